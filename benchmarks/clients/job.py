"""What one client is asked to do, in a process of its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

_RANDOM = Random(1)

POLL_S = 30.0
"""How long a client waits for records that are there."""
RECORDS_AT_ONCE = 10_000
"""The most records that one poll gives out."""
GROUP = "unused"
"""Nobody joins it: partitions are assigned."""


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work on one topic."""

    bootstrap: str
    topic: str
    records: int
    """Records to read or to write, round trips to make."""
    partitions: int = 1
    record_bytes: int = 0
    codec: str = "none"


Figures: TypeAlias = Mapping[str, float]
Work: TypeAlias = Callable[[Job], Figures]
"""Does the job, and returns what only the client itself can measure: a figure of its contest."""


def value_of(number: int, size: int) -> bytes:
    """A JSON object of `size` bytes, at least 100; lz4 makes half of it or less, as of real ones."""
    text = b'{"flight": %d, "origin": "EWR", "delay": %d, "tail": "N%d", "note": "' % (
        number,
        number * 7919 % 240,
        number * 104_729 % 99_991,
    )
    missing = size - len(text) - len(b'"}')
    return text + _RANDOM.randbytes((missing + 1) // 2).hex().encode()[:missing] + b'"}'
