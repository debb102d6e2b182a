"""What is above the limits of a metadata store, told before it is sent to the store.

StoreLimits(node_bytes_max=10)
SetData("/a", 11 bytes)             -> Failed(TOO_LARGE, "/a")
Multi(Check(...), SetData("/a", 11 bytes))  -> Failed(TOO_LARGE, "/a", index=1)
"""

from typing import Final

from odradek.base.execution import Steps
from odradek.metadata.store import (
    READS_MAX,
    ROOT,
    Create,
    Failed,
    Fault,
    Multi,
    Operation,
    Reads,
    SetData,
    StoreLimits,
)
from odradek.metadata.tree import size_of

_CHECKED_PER_STEP: Final = 1_000


def above_limits(operation: Operation, limits: StoreLimits) -> Steps[Failed | None]:
    """The failure of an operation that is above the limits of the store; None for any other."""
    match operation:
        case Multi(operations):
            size_bytes = 0
            for index, write in enumerate(operations):
                size_bytes += size_of(write)
                if isinstance(write, Create | SetData) and len(write.data) > limits.node_bytes_max:
                    return Failed(Fault.TOO_LARGE, write.path, index)
                if index % _CHECKED_PER_STEP == _CHECKED_PER_STEP - 1:
                    yield
            if len(operations) > limits.multi_operations_max or size_bytes > limits.multi_bytes_max:
                return Failed(Fault.TOO_LARGE, path_of(operation))
        case Reads(reads):
            if not 0 < len(reads) <= READS_MAX:
                return Failed(Fault.TOO_LARGE, path_of(operation))
        case Create(path, data) | SetData(path, data):
            if len(data) > limits.node_bytes_max:
                return Failed(Fault.TOO_LARGE, path)
    return None


def path_of(operation: Operation) -> str:
    """The path that stands for an operation: that of its first part, if it has parts."""
    if isinstance(operation, Multi | Reads):
        return operation.operations[0].path if operation.operations else ROOT
    return operation.path
