"""The system's own words for its errors, as they stand within a sentence of ours."""


def reason_of(error: OSError) -> str:
    """Why a call of the system failed: `no such file or directory`."""
    words = error.strerror or str(error)
    return words[:1].lower() + words[1:]
