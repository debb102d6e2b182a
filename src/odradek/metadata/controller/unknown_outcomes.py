"""Finds out whether a write without an answer was executed, so that requests are answered truthfully.

A `Multi` is executed whole or not at all. So one of its nodes tells:

    Create      the node is there, with these bytes             executed
    SetData     these bytes, one version above the expected     executed
                the expected version                            not executed
                any other version                               unknown
    Delete      the node is gone                                executed

The last node that a decision makes is the surest: it has the controller's epoch, or a topic's new id, and its
parents are made by the same decision. A SetData on any version tells nothing, and may be done twice.
"""

from collections.abc import Sequence

from odradek.metadata.store import (
    ANY_VERSION,
    Create,
    Data,
    Delete,
    Failed,
    Fault,
    GetData,
    SetData,
    StoreRefused,
    StoreSteps,
    WriteOperation,
)


def was_executed(writes: Sequence[WriteOperation], lost: Failed) -> StoreSteps[bool]:
    """Whether the `Multi` of these writes was executed; its answer was `lost`.

    False also where executing the writes again has the same effect. Raises StoreRefused if it stays unknown.
    """
    write = _telling(writes)
    if write is None:
        return False
    found = yield GetData(write.path)
    is_missing = isinstance(found, Failed) and found.fault is Fault.NO_NODE
    if not is_missing and not isinstance(found, Data):
        raise StoreRefused(lost)
    match write, found:
        case Create(), Data(data):
            return data == write.data
        case Delete(), _:
            return is_missing
        case SetData(), Data(data, stat):
            if stat.version == write.version + 1 and data == write.data:
                return True
            if stat.version != write.version:
                raise StoreRefused(lost)
    return False


def _telling(writes: Sequence[WriteOperation]) -> Create | SetData | Delete | None:
    """The write whose node shows best whether all of them were executed; None if there is none."""
    made = [write for write in writes if isinstance(write, Create) and not write.sequential]
    replaced = [write for write in writes if isinstance(write, SetData) and write.version != ANY_VERSION]
    removed = [write for write in writes if isinstance(write, Delete)]
    candidates: list[Create | SetData | Delete] = [*removed, *replaced, *made]
    return candidates[-1] if candidates else None
