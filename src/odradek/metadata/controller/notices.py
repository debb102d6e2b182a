"""The notices that brokers leave for the controller: sequential nodes, read together, then deleted.

    R4  /isr_change_notification/isr_change_N         a leader changed these ISRs
    R6  /log_dir_event_notification/log_dir_event_N   a log directory of this broker failed

A notice says only where to look. One that is read twice, or is about what a new controller has learned by its
take-over, leads to the same decisions.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from odradek.metadata import codec
from odradek.metadata.controller.controlled_cluster import ControlledCluster
from odradek.metadata.startup import document_in
from odradek.metadata.store import (
    Children,
    Delete,
    Failed,
    Fault,
    GetChildren,
    GetData,
    ReadResult,
    StoreRefused,
    StoreSteps,
    ensure,
    read_many,
)

T = TypeVar("T")


def list_notices(*parents: str) -> StoreSteps[list[list[str]]]:
    """The paths of the notices below each of `parents`, all in one trip; they are watched from then on.

    A parent that is missing is made: the store is of a version that did not have such notices.
    """
    found = yield from read_many(GetChildren(parent, watch=True) for parent in parents)
    missing = [parent for parent, result in zip(parents, found, strict=True) if isinstance(result, Failed)]
    for parent in missing:
        yield from ensure(parent)
    if missing:
        found = yield from read_many(GetChildren(parent, watch=True) for parent in parents)
    return [
        [f"{parent}/{name}" for name in result.names] if isinstance(result, Children) else []
        for parent, result in zip(parents, found, strict=True)
    ]


def read_notices(notices: Sequence[str], decode: Callable[[bytes], T]) -> StoreSteps[list[T]]:
    """What the notices say, without those that cannot be read."""
    found = yield from read_many(GetData(path) for path in notices)
    contents = [_content(path, result, decode) for path, result in zip(notices, found, strict=True)]
    return [content for content in contents if content is not None]


def delete_notices(cluster: ControlledCluster, notices: Iterable[str]) -> StoreSteps[None]:
    """Delete notices that have been taken in. Raises Deposed and StoreRefused."""
    for path in notices:
        failed = yield from cluster.writes.commit((Delete(path),))
        if failed is not None and failed.fault is not Fault.NO_NODE:
            raise StoreRefused(failed)


def _content(path: str, result: ReadResult, decode: Callable[[bytes], T]) -> T | None:
    try:
        notice = document_in(path, result, decode)
    except codec.MalformedNode:
        return None
    return notice.value if notice is not None else None
