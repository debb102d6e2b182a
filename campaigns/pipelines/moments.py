"""When something is killed: at a step of a batch, while a stage's query works, or some time after that."""

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from odradek.spark.pipeline.engine import Step

QUERY: Final = "QUERY"
"""While the query of a stage has begun its step, and has not committed it."""
STEPS: Final = (
    Step.PLANNED,
    Step.STAGED,
    Step.STAGED,
    Step.WRITTEN,
    Step.SEALED,
    Step.SEALED,
    Step.PUBLISHED,
)
DELAY_MS_MAX: Final = 1500
# A batch takes longer with stages.
STAGES_DELAY_MS_MAX: Final = 4000
QUERY_DELAY_MS_MAX: Final = 1500


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of a batch."""

    name: str
    """Of a step, or QUERY."""
    after_ms: int

    def __str__(self) -> str:
        where = "a stage's query" if self.name == QUERY else Step[self.name].value
        return where if self.after_ms == 0 else f"after {where}"


def moment_of(chance: Random, *, has_stages: bool) -> Moment:
    """Half of them are at a step, the others later; with stages every second one is within a query."""
    if has_stages and chance.random() < 0.5:
        return Moment(QUERY, chance.choice((0, chance.randrange(1, QUERY_DELAY_MS_MAX))))
    step = chance.choice(STEPS)
    most_ms = STAGES_DELAY_MS_MAX if has_stages else DELAY_MS_MAX
    return Moment(step.name, chance.choice((0, chance.randrange(1, most_ms))))


def is_in_query(ledger: Path) -> bool:
    """Whether a stage of the batch that is being written has begun a step of its query and not ended it."""
    return any(
        _numbers(stage / "offsets") - _numbers(stage / "commits")
        for stage in ledger.glob("_staging-*/_state/stage=*")
    )


def _numbers(directory: Path) -> set[str]:
    """The steps that are noted there; names that begin with a point are still written."""
    try:
        return {one.name for one in directory.iterdir() if one.name.isdecimal()}
    except FileNotFoundError:
        return set()
