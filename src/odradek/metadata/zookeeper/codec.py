"""The frames of one connection to a ZooKeeper server, by kazoo's serializers.

Replies come in the order of the requests and do not say what they answer, so each connection keeps what it
has asked. Kazoo's client is not used: it has threads of its own, opens another session by itself when one has
expired, and does not keep watches and results in one order.

    xid 7 | create | /prod/a ...           Request(7, Create("/a"))      with the chroot /prod
    xid 7 | zxid | 0 | /prod/a             Reply(zxid, Created("/a"))
    xid -1 | ... | deleted | /prod/a       WatchFired("/a", DELETED)
"""

import logging
import struct
from collections import deque
from collections.abc import Mapping
from typing import Final, TypeAlias

from kazoo.exceptions import EXCEPTIONS
from kazoo.protocol import serialization as jute
from kazoo.protocol.states import ZnodeStat
from kazoo.security import OPEN_ACL_UNSAFE

from odradek.base.buffers import Buffer
from odradek.base.execution import Steps
from odradek.base.values import value
from odradek.metadata.channel import MalformedMessage
from odradek.metadata.limits import path_of
from odradek.metadata.store import (
    ROOT,
    Check,
    Checked,
    Children,
    Committed,
    Create,
    Created,
    Data,
    Delete,
    Deleted,
    Existence,
    Exists,
    Failed,
    Fault,
    GetChildren,
    GetData,
    Multi,
    NodeChange,
    NodeStat,
    ReadOperation,
    Result,
    SetData,
    WatchFired,
    WriteOperation,
    WriteResult,
    Written,
)

_log = logging.getLogger(__name__)

NO_PASSWORD: Final = bytes(16)
REPLY_BYTES_MAX: Final = (1 << 31) - 1
"""The largest frame; the names of a node's children have no other bound."""

_WATCH_XID: Final = -1
_PING_XID: Final = -2
_EPHEMERAL: Final = 1
_SEQUENTIAL: Final = 2
_ELEMENTS_PER_STEP: Final = 100
_NAMES_PER_STEP: Final = 500
_ROLLED_BACK: Final = (0, -2)
"""The codes of the operations before and after the one that failed in a multi."""
_SESSION_MOVED: Final = -118

_FAULTS: Final[Mapping[int, Fault]] = {
    -4: Fault.CONNECTION_LOSS,
    -101: Fault.NO_NODE,
    -102: Fault.NOT_ALLOWED,
    -103: Fault.BAD_VERSION,
    -108: Fault.NO_CHILDREN_FOR_EPHEMERALS,
    -110: Fault.NODE_EXISTS,
    -111: Fault.NOT_EMPTY,
    -112: Fault.SESSION_EXPIRED,
    -113: Fault.NOT_ALLOWED,
    -115: Fault.NOT_ALLOWED,
}
_CHANGES: Final[Mapping[int, NodeChange]] = {
    1: NodeChange.CREATED,
    2: NodeChange.DELETED,
    3: NodeChange.DATA_CHANGED,
    4: NodeChange.CHILDREN_CHANGED,
}

PlainOperation: TypeAlias = Create | SetData | Delete | Multi | ReadOperation
"""What is one request: every operation of the port but `Reads`, which is one request for each read."""


# --- messages to the server


@value
class Connect:
    """The first message: begin a session, or come back to one. Its reply is `Connected`."""

    # The last transaction that this client has seen: a server that is behind it ends the connection.
    last_zxid: int
    timeout_ms: int
    session_id: int = 0
    password: bytes = NO_PASSWORD


@value
class Request:
    """One operation."""

    operation: PlainOperation


@value
class Ping:
    """The session is alive."""


@value
class Close:
    """End the session after all earlier requests."""


ToServer: TypeAlias = Connect | Request | Ping | Close


# --- messages from the server


@value
class Connected:
    """The session is open, with this timeout; a timeout of 0: the session to come back to is over."""

    timeout_ms: int
    session_id: int
    password: bytes


@value
class Reply:
    """The result of the oldest request without one, and the last transaction that the server had seen."""

    zxid: int
    result: Result


@value
class Pong:
    """The server is alive."""


@value
class Closed:
    """The session has ended."""


ToClient: TypeAlias = Connected | Reply | Pong | Closed | WatchFired | None
"""None: a message that says nothing."""


class ConnectionCodec:
    """Encodes and decodes the messages of one connection."""

    def __init__(self, chroot: str) -> None:
        self._chroot = chroot
        # Whether the server has answered `Connect`, which has a layout of its own.
        self._is_connected = False
        # Requests without a reply, oldest first; None: the session's end.
        self._asked: deque[tuple[int, PlainOperation | None]] = deque()
        self._last_xid = 0

    def encode(self, message: ToServer) -> Steps[list[Buffer]]:
        """Encode a message into the parts of a frame's payload."""
        match message:
            case Connect(last_zxid, timeout_ms, session_id, password):
                connect = jute.Connect(0, last_zxid, timeout_ms, session_id, password, False)
                return [bytes(connect.serialize())]
            case Ping():
                return [_head(_PING_XID, jute.Ping.type)]
            case Close():
                return [_head(self._next(None), jute.Close.type)]
            case Request(Multi() as multi):
                return [
                    _head(self._next(multi), jute.Transaction.type) + (yield from self._encode_multi(multi))
                ]
            case Request(operation):
                request = self._jute(operation)
                return [_head(self._next(operation), request.type) + request.serialize()]

    def decode(self, frame: Buffer) -> Steps[ToClient]:
        """Decode a frame. Raises MalformedMessage."""
        try:
            return (yield from self._decode(bytes(frame)))
        except (struct.error, UnicodeDecodeError, IndexError) as error:
            raise MalformedMessage(f"a reply of ZooKeeper cannot be read: {error}") from None

    def _next(self, operation: PlainOperation | None) -> int:
        self._last_xid += 1
        self._asked.append((self._last_xid, operation))
        return self._last_xid

    def _encode_multi(self, multi: Multi) -> Steps[bytes]:
        out = bytearray()
        for index, write in enumerate(multi.operations):
            request = self._jute(write)
            out += jute.MultiHeader(request.type, False, -1).serialize() + request.serialize()
            if index % _ELEMENTS_PER_STEP == _ELEMENTS_PER_STEP - 1:
                yield
        out += jute.MultiHeader(-1, True, -1).serialize()
        return bytes(out)

    def _jute(self, operation: WriteOperation | ReadOperation | Multi) -> jute.Create:  # one of many classes
        assert not isinstance(operation, Multi), "a multi has parts"
        path = self._chroot + operation.path if operation.path != ROOT else self._chroot or ROOT
        match operation:
            case Create(_, data, ephemeral, sequential):
                flags = (_EPHEMERAL if ephemeral else 0) | (_SEQUENTIAL if sequential else 0)
                return jute.Create(path, data, OPEN_ACL_UNSAFE, flags)
            case SetData(_, data, version):
                return jute.SetData(path, data, version)
            case Delete(_, version):
                return jute.Delete(path, version)
            case Check(_, version):
                return jute.CheckVersion(path, version)
            case GetData(_, watch):
                return jute.GetData(path, watch)
            case GetChildren(_, watch):
                return jute.GetChildren(path, watch)
            case Exists(_, watch):
                return jute.Exists(path, watch)

    def _decode(self, frame: bytes) -> Steps[ToClient]:
        if not self._is_connected:
            self._is_connected = True
            connected, _ = jute.Connect.deserialize(frame, 0)
            return Connected(max(0, connected.time_out), connected.session_id, connected.passwd or b"")
        header, offset = jute.ReplyHeader.deserialize(frame, 0)
        if header.xid == _WATCH_XID:
            event, _ = jute.Watch.deserialize(frame, offset)
            change = _CHANGES.get(event.type)
            return None if change is None else WatchFired(self._below_chroot(event.path), change)
        if header.xid == _PING_XID:
            return Pong()
        if not self._asked or self._asked[0][0] != header.xid:
            raise MalformedMessage(f"ZooKeeper answers request {header.xid}, which is not the next one")
        _, operation = self._asked.popleft()
        if operation is None:
            return Closed()
        if header.err == _SESSION_MOVED:
            raise MalformedMessage("the session has moved to another server")
        if header.err:
            return Reply(header.zxid, _failure(operation, header.err))
        return Reply(header.zxid, (yield from self._result(operation, frame, offset)))

    def _result(self, operation: PlainOperation, frame: bytes, offset: int) -> Steps[Result]:
        match operation:
            case Create():
                return Created(self._below_chroot(jute.Create.deserialize(frame, offset)))
            case SetData():
                return Written(jute.SetData.deserialize(frame, offset).version)
            case Delete():
                return Deleted()
            case GetData():
                data, stat = jute.GetData.deserialize(frame, offset)
                return Data(data or b"", _stat(stat))
            case Exists():
                return Existence(_stat(jute.Exists.deserialize(frame, offset)))
            case GetChildren():
                return Children((yield from _names(frame, offset)))
            case Multi():
                return (yield from self._results(operation, frame, offset))

    def _results(self, multi: Multi, frame: bytes, offset: int) -> Steps[Result]:
        results: list[WriteResult] = []
        failed: Failed | None = None
        for index, operation in enumerate(multi.operations):
            header, offset = jute.MultiHeader.deserialize(frame, offset)
            match header.type:
                case jute.Create.type:
                    path, offset = jute.read_string(frame, offset)
                    results.append(Created(self._below_chroot(path)))
                case jute.SetData.type:
                    results.append(Written(jute.SetData.deserialize(frame, offset).version))
                    offset += jute.stat_struct.size
                case jute.Delete.type:
                    results.append(Deleted())
                case jute.CheckVersion.type:
                    results.append(Checked())
                case -1:
                    (code,) = jute.int_struct.unpack_from(frame, offset)
                    offset += jute.int_struct.size
                    if failed is None and code not in _ROLLED_BACK:
                        failed = Failed(_fault(code), operation.path, index)
                case _:
                    raise MalformedMessage(f"ZooKeeper answers a multi with an operation {header.type}")
            if index % _ELEMENTS_PER_STEP == _ELEMENTS_PER_STEP - 1:
                yield
        if failed is None and len(results) != len(multi.operations):
            raise MalformedMessage("ZooKeeper refuses a multi without a reason")
        return failed or Committed(tuple(results))

    def _below_chroot(self, path: str) -> str:
        return path[len(self._chroot) :] or ROOT


def _head(xid: int, kind: int) -> bytes:
    return bytes(jute.int_int_struct.pack(xid, kind))


def _stat(stat: ZnodeStat) -> NodeStat:
    return NodeStat(stat.version, stat.czxid, stat.ephemeralOwner)


def _names(frame: bytes, offset: int) -> Steps[tuple[str, ...]]:
    (count,) = jute.int_struct.unpack_from(frame, offset)
    offset += jute.int_struct.size
    names: list[str] = []
    for index in range(count):
        name, offset = jute.read_string(frame, offset)
        names.append(name)
        if index % _NAMES_PER_STEP == _NAMES_PER_STEP - 1:
            yield
    return tuple(sorted(names))


def _failure(operation: PlainOperation, code: int) -> Result:
    fault = _fault(code)
    if fault is Fault.NO_NODE and isinstance(operation, Exists):
        return Existence(None)
    return Failed(fault, path_of(operation))


def _fault(code: int) -> Fault:
    fault = _FAULTS.get(code)
    if fault is None:
        name = EXCEPTIONS[code].__name__ if code in EXCEPTIONS else "no known error"
        _log.error("ZooKeeper answered error %d, %s", code, name)
        return Fault.STORE_FAILED
    return fault
