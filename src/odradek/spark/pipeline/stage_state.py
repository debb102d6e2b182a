"""What stages keep from batch to batch (windows, deduplication): a part of the batch that left it.

    batch=7/_state/stage=1/...              the checkpoint of the first stage that keeps state, after batch 7
    batch=7/_late/stage=1/part-....parquet  rows of batch 7 that came behind the watermark of this stage

A batch begins with the state of the batch before, and writes its own beside its rows. So rows, offsets and
state become visible together, or not at all: a run that was killed, between state and commit too, leaves
nothing that the next one would read.

The state of the batch before is taken over file by file, as hard links: a checkpoint's files are written
once and never changed. Only the last batch's state is ever read; that of older ones is removed.

Invariant: the last commit names its state by a digest. A state that is gone or incomplete is refused, because
a stage that began anew would count again what it has counted, or forget what it has seen.
"""

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from odradek.spark.pipeline.ledger import LATE, STATE, Commit, Table, TableRefused
from odradek.spark.pipeline.transforms import Stateful, Transform


def stages_of(transforms: Sequence[Transform]) -> list[str]:
    """The stages that keep state, in words, in their order."""
    return [one.text for one in transforms if isinstance(one, Stateful)]


class StageState:
    """The state of the stages of one pipeline, in the directory of its batches."""

    def __init__(self, ledger: Table) -> None:
        self._ledger = ledger

    @property
    def batch(self) -> int:
        """The number of the batch that is written next."""
        return (self._ledger.batches() or [0])[-1] + 1

    def check(self, last: Commit | None, stages: Sequence[str]) -> None:
        """Raises TableRefused if the table's stages are others, or if their state is not there."""
        if last is None:
            return
        directory = self._ledger.directory
        if list(last.stages) != list(stages):
            raise TableRefused(
                f"{directory} was written with {_shown(last.stages)}, and the description has"
                f" {_shown(stages)}: give it the stages that it has, or begin a new table"
            )
        batch = self._ledger.directory_of(last.batch)
        if last.state != digest_of(batch):
            raise TableRefused(
                f"{batch / STATE} is missing or damaged: it is what the stages keep from batch to batch;"
                " restore it, or begin a new table"
            )

    def begin(self, staging: Path) -> None:
        """Give a batch that is being written the state of the batch before, if there is one."""
        numbers = self._ledger.batches()
        before = self._ledger.directory_of(numbers[-1]) / STATE if numbers else None
        if before is not None and before.is_dir():
            shutil.copytree(before, staging / STATE, copy_function=_link)

    def forget_before(self, batch: int) -> None:
        """Remove the state of older batches."""
        for number in self._ledger.batches():
            if number < batch:
                shutil.rmtree(self._ledger.directory_of(number) / STATE, ignore_errors=True)


def checkpoint_of(staging: Path, stage: int) -> Path:
    """The checkpoint of a stage; they count from 1."""
    return staging / STATE / f"stage={stage}"


def late_rows_of(staging: Path, stage: int) -> Path:
    """Where rows that came too late for a stage are kept."""
    return staging / LATE / f"stage={stage}"


def digest_of(batch: Path) -> str:
    """The names and sizes of all files of a batch's state, as one digest; "" if it has no state."""
    state = batch / STATE
    files = sorted((str(one.relative_to(state)), one.stat().st_size) for one in _files(state))
    return hashlib.sha256(repr(files).encode()).hexdigest() if files else ""


def _files(directory: Path) -> list[Path]:
    return [one for one in directory.rglob("*") if one.is_file()]


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without hard links
        shutil.copy2(source, target)


def _shown(stages: Sequence[str]) -> str:
    return " and ".join(stages) or "no stage that keeps state"
