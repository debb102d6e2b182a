"""How an elected controller writes: one atomic batch, behind a check of the controller epoch.

A controller that was deposed without noticing changes nothing (Deposed).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from odradek.base.errors import OdradekError
from odradek.metadata import paths
from odradek.metadata.controller.decision import DecidedWrite, Put
from odradek.metadata.controller.unknown_outcomes import was_executed
from odradek.metadata.store import (
    ATTEMPTS_MAX,
    Check,
    Create,
    Existence,
    Exists,
    Failed,
    Fault,
    Multi,
    SetData,
    StoreLimits,
    StoreRefused,
    StoreSteps,
    WriteOperation,
)

WRITES_PER_COMMIT_MAX: Final = 200
"""What the controller writes at once where the store would take more: made and applied at once."""
STATE_BYTES_MAX = 2_048
"""More than a partition's state and its path take: a topic's name and 100 replicas."""

CHANGED_BY_ANOTHER: Final = (Fault.BAD_VERSION, Fault.NO_NODE)
_OUTCOME_UNKNOWN = (Fault.CONNECTION_LOSS, Fault.SESSION_EXPIRED, Fault.STORE_FAILED)


class Deposed(OdradekError):
    """Another controller has raised the epoch: nothing was written."""


class FencedWrites:
    """The way of one elected controller into the store."""

    def __init__(self, epoch: int, epoch_version: int, limits: StoreLimits) -> None:
        """`epoch_version` is the version of /controller_epoch that this controller wrote: the fence."""
        self._epoch = epoch
        self._epoch_version = epoch_version
        self._limits = limits

    @property
    def most(self) -> int:
        """How many writes of partitions' nodes one commit takes, behind its fence.

        An even number, as the two nodes of a partition go together, and at least 4, which is how many nodes a
        topic has of its own: a store that takes fewer refuses them.
        """
        fitting = min(self._limits.multi_operations_max - 1, self._limits.multi_bytes_max // STATE_BYTES_MAX)
        return max(4, min(WRITES_PER_COMMIT_MAX, fitting) // 2 * 2)

    def commit(
        self, writes: Sequence[DecidedWrite], *, expect_new: bool = False
    ) -> StoreSteps[Failed | None]:
        """Write all or nothing under the epoch's fence; the failure's index is that of the write.

        `expect_new` makes the nodes that are likely new without a look; it fails when one is there.

        A write whose answer was lost is looked up, and made again if it was not executed. Raises Deposed, and
        StoreRefused when it stays unknown whether it was written.
        """
        resolved: list[WriteOperation] = [Check(paths.CONTROLLER_EPOCH, self._epoch_version)]
        for write in writes:
            if isinstance(write, Put) and expect_new and write.is_likely_new:
                write = Create(write.path, write.data)
            elif isinstance(write, Put):
                write = yield from _resolved(write)
            resolved.append(write)
        result = yield Multi(tuple(resolved))
        for _ in range(ATTEMPTS_MAX):
            if not (isinstance(result, Failed) and result.fault is Fault.CONNECTION_LOSS):
                break
            if (yield from was_executed(resolved[1:], result)):
                return None
            result = yield Multi(tuple(resolved))
        if not isinstance(result, Failed):
            return None
        if result.fault in _OUTCOME_UNKNOWN:
            raise StoreRefused(result)
        # A write that is too large for the store names its first node, too, and deposes nobody.
        if result.path == paths.CONTROLLER_EPOCH and result.fault in CHANGED_BY_ANOTHER:
            raise Deposed(f"the controller epoch is above {self._epoch}")
        return replace(result, index=result.index - 1)


def _resolved(put: Put) -> StoreSteps[WriteOperation]:
    existence = yield Exists(put.path)
    if isinstance(existence, Failed):
        raise StoreRefused(existence)
    assert isinstance(existence, Existence), existence
    return Create(put.path, put.data) if existence.stat is None else SetData(put.path, put.data)
