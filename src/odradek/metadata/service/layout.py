"""The layout of the messages on the wire: sizes, numbers of kinds, and fixed fields, for both directions."""

import struct
from typing import Final

from odradek.metadata.store import (
    MULTI_BYTES_MAX,
    MULTI_OPERATIONS_MAX,
    Exists,
    Fault,
    GetChildren,
    GetData,
    NodeChange,
)

ELEMENTS_PER_STEP: Final = 100
"""Operations or results, of up to three microseconds each."""
NAMES_PER_STEP: Final = 1_000

HEAD: Final = struct.Struct(">BqII")
"""Of an operation: its kind; its version, its flags or how many it holds; the sizes of its path and data."""
CALL: Final = struct.Struct(">Bq")
STAT: Final = struct.Struct(">qqq")
FAILED: Final = struct.Struct(">BI")
OPEN: Final = struct.Struct(">qi?")
LIMITS: Final = struct.Struct(">HIII")
U8: Final = struct.Struct(">B")
U32: Final = struct.Struct(">I")
I64: Final = struct.Struct(">q")

REQUEST_BYTES_MAX: Final = 4 * MULTI_BYTES_MAX + MULTI_OPERATIONS_MAX * HEAD.size + 64
"""The largest frame for the server: a character of a path takes four bytes at most."""
ANSWER_BYTES_MAX: Final = (1 << 31) - 1
"""The largest frame for a client; the names of a node's children have no other bound."""


class Kind:
    """The messages, by their first byte: below 32 the client's, above the server's; `HEARTBEAT` of both."""

    OPEN: Final = 1
    SUBMIT: Final = 2
    RESUME: Final = 3
    HEARTBEAT: Final = 4
    CLOSE: Final = 5
    GREETING: Final = 33
    REPLIED: Final = 34
    FIRED: Final = 35
    BEGAN: Final = 36
    RECONNECTED: Final = 37
    ENDED: Final = 38


class OperationKind:
    """The operations."""

    CREATE: Final = 1
    SET_DATA: Final = 2
    DELETE: Final = 3
    CHECK: Final = 4
    MULTI: Final = 5
    GET_DATA: Final = 6
    GET_CHILDREN: Final = 7
    EXISTS: Final = 8
    READS: Final = 9


class ResultKind:
    """The results."""

    CREATED: Final = 1
    WRITTEN: Final = 2
    DELETED: Final = 3
    CHECKED: Final = 4
    COMMITTED: Final = 5
    DATA: Final = 6
    CHILDREN: Final = 7
    EXISTENCE: Final = 8
    READ_RESULTS: Final = 9
    FAILED: Final = 10


READ_KINDS: Final[dict[int, type[GetData] | type[GetChildren] | type[Exists]]] = {
    OperationKind.GET_DATA: GetData,
    OperationKind.GET_CHILDREN: GetChildren,
    OperationKind.EXISTS: Exists,
}
KINDS_OF_READS: Final = {read: kind for kind, read in READ_KINDS.items()}

EPHEMERAL: Final = 1
SEQUENTIAL: Final = 2
WATCH: Final = 1

FAULTS: Final = (
    Fault.NO_NODE,
    Fault.NODE_EXISTS,
    Fault.BAD_VERSION,
    Fault.NOT_EMPTY,
    Fault.NO_CHILDREN_FOR_EPHEMERALS,
    Fault.TOO_LARGE,
    Fault.SESSION_EXPIRED,
    Fault.CONNECTION_LOSS,
    Fault.STORE_FAILED,
    Fault.UNREACHABLE,
    Fault.NOT_ALLOWED,
)
"""By their number on the wire: a new one is added at the end."""
FAULT_NUMBERS: Final = {fault: number for number, fault in enumerate(FAULTS)}

CHANGES: Final = (
    NodeChange.CREATED,
    NodeChange.DELETED,
    NodeChange.DATA_CHANGED,
    NodeChange.CHILDREN_CHANGED,
)
"""By their number on the wire."""
CHANGE_NUMBERS: Final = {change: number for number, change in enumerate(CHANGES)}
