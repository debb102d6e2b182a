"""Large metric families in parts, so that each step of /metrics makes a few samples only."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

SAMPLES_PER_STEP: Final = 64
"""How many samples one step makes, of up to ten microseconds each."""

Family: TypeAlias = Any
"""A metric family of prometheus_client, or a part of one; the parts of a family follow one another."""


def parts(make: Callable[[], Family], samples: Iterable[tuple[list[str], float]]) -> Iterator[Family]:
    """Returns a large family in parts; `samples` has the label values and the value of each sample."""
    part = make()
    for labels, value in samples:
        if len(part.samples) >= SAMPLES_PER_STEP:
            yield part
            part = make()
        part.add_metric(labels, value)
    yield part
