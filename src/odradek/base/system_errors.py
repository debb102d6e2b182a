"""The system's own words for its errors, as they stand within a sentence of ours."""


def reason_of(error: OSError) -> str:
    """Why a call of the system failed: `no such file or directory`, `AF_UNIX path too long`."""
    words = error.strerror or str(error)
    if words[1:2].isupper():
        return words
    return words[:1].lower() + words[1:]
