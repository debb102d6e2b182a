"""What a record waits for before it can be added."""

from typing import Final, NamedTuple


class Lack(NamedTuple):
    """What is missing."""

    topic: str | None
    """A topic that is not known; None: memory."""
    partition: int | None = None
    """The partition of it that is not known; None: no partition is."""

    def __str__(self) -> str:
        if self.topic is None:
            return "buffer.memory is used up by records that are not acknowledged"
        if self.partition is None:
            return f"topic {self.topic} is not known"
        return f"partition {self.partition} of topic {self.topic} is not known"


MEMORY: Final = Lack(None)
