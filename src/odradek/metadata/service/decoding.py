"""Decodes the messages between brokers and the metadata store's process (`encoding`).

It is total: any bytes are a message of the direction that is asked for, or raise `MalformedMessage`. Nothing
is reserved for a stated size or number before that many bytes are known to be there. A message of thousands
of elements, or of much data, is decoded in steps; data is copied once, out of the frame.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, TypeVar

from odradek.base.buffers import Buffer
from odradek.base.execution import Steps
from odradek.metadata.channel import MalformedMessage
from odradek.metadata.service.layout import (
    CHANGES,
    ELEMENTS_PER_STEP,
    EPHEMERAL,
    FAILED,
    FAULTS,
    HEAD,
    I64,
    LIMITS,
    NAMES_PER_STEP,
    OPEN,
    READ_KINDS,
    SEQUENTIAL,
    STAT,
    U8,
    U32,
    WATCH,
    Kind,
    OperationKind,
    ResultKind,
)
from odradek.metadata.service.messages import (
    CloseSession,
    Greeting,
    Heartbeat,
    OpenSession,
    ResumeSession,
    SessionBegan,
    SessionKey,
    Submitted,
    ToClient,
    ToServer,
)
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
    GetChildren,
    GetData,
    Multi,
    NodeStat,
    Operation,
    ReadOperation,
    ReadResult,
    ReadResults,
    Reads,
    Reconnected,
    Result,
    SessionEnded,
    SetData,
    StoreLimits,
    StoreReplied,
    WatchFired,
    WriteOperation,
    WriteResult,
    Written,
)

T = TypeVar("T")

COPIED_BYTES_PER_STEP: Final = 256 * 1024
"""A step also ends after so many bytes of data."""


class _Reader:
    """Reads values from one frame; a position only grows."""

    __slots__ = ("_at", "_data", "copied_bytes")

    def __init__(self, frame: Buffer) -> None:
        self._data = memoryview(frame)
        self._at = 0
        self.copied_bytes = 0
        """How much data was copied out of the frame, for the one who makes steps of it."""

    @property
    def left(self) -> int:
        """How many bytes are not read."""
        return len(self._data) - self._at

    def fields(self, layout: struct.Struct) -> tuple[Any, ...]:
        """Numbers of a fixed layout."""
        begin = self._at
        self._at += layout.size
        if self._at > len(self._data):
            raise MalformedMessage("a message ends within its fields")
        return layout.unpack_from(self._data, begin)

    def number(self, layout: struct.Struct) -> int:
        """One number."""
        number: int = self.fields(layout)[0]
        return number

    def blob(self, size_bytes: int) -> bytes:
        """So many bytes."""
        if size_bytes > self.left:
            raise MalformedMessage(f"{size_bytes} bytes are announced, {self.left} are left")
        begin = self._at
        self._at += size_bytes
        self.copied_bytes += size_bytes
        return bytes(self._data[begin : self._at])

    def text(self, size_bytes: int) -> str:
        """A text of so many bytes."""
        try:
            return str(self.blob(size_bytes), "utf-8")
        except UnicodeDecodeError:
            raise MalformedMessage("a text is not UTF-8") from None

    def path(self, size_bytes: int) -> str:
        """The path of a node."""
        path = self.text(size_bytes)
        if path != ROOT and (not path.startswith("/") or path.endswith("/")):
            raise MalformedMessage(f"{path[:100]!r} is no path of a node")
        return path

    def count(self, least_bytes: int, stated: int | None = None) -> int:
        """How many elements follow, each of at least so many bytes."""
        count = self.number(U32) if stated is None else stated
        if not 0 <= count <= self.left // least_bytes:
            raise MalformedMessage(f"{count} elements are announced in {self.left} bytes")
        return count


def decode_to_server(frame: Buffer) -> Steps[ToServer]:
    """Decode a client's message. Raises MalformedMessage."""
    reader = _Reader(frame)
    kind = reader.number(U8)
    message: ToServer
    match kind:
        case Kind.SUBMIT:
            message = Submitted(reader.number(I64), (yield from _read_operation(reader)))
        case Kind.HEARTBEAT:
            message = Heartbeat()
        case Kind.OPEN:
            timeout_ms, broker_id, has_former = reader.fields(OPEN)
            if timeout_ms < 1:
                raise MalformedMessage(f"a session timeout of {timeout_ms} ms")
            message = OpenSession(timeout_ms, broker_id, _read_key(reader) if has_former else None)
        case Kind.RESUME:
            message = ResumeSession(_read_key(reader))
        case Kind.CLOSE:
            message = CloseSession()
        case _:
            raise MalformedMessage(f"a message of the kind {kind}, which no client sends")
    _expect_end(reader)
    return message


def decode_to_client(frame: Buffer) -> Steps[ToClient]:
    """Decode a server's message. Raises MalformedMessage."""
    reader = _Reader(frame)
    kind = reader.number(U8)
    message: ToClient
    match kind:
        case Kind.REPLIED:
            message = StoreReplied(reader.number(I64), (yield from _read_result(reader)))
        case Kind.FIRED:
            change = _one_of(CHANGES, reader.number(U8), "change of a node")
            message = WatchFired(reader.path(reader.number(U32)), change)
        case Kind.HEARTBEAT:
            message = Heartbeat()
        case Kind.GREETING:
            version, *limits = reader.fields(LIMITS)
            message = Greeting(version, StoreLimits(*limits))
        case Kind.BEGAN:
            message = SessionBegan(_read_key(reader))
        case Kind.RECONNECTED:
            message = Reconnected()
        case Kind.ENDED:
            message = SessionEnded()
        case _:
            raise MalformedMessage(f"a message of the kind {kind}, which no server sends")
    _expect_end(reader)
    return message


def _expect_end(reader: _Reader) -> None:
    if reader.left:
        raise MalformedMessage(f"{reader.left} bytes behind the end of a message")


def _one_of(values: Sequence[T], number: int, name: str) -> T:
    if number >= len(values):
        raise MalformedMessage(f"{number} is no {name}")
    return values[number]


def _read_key(reader: _Reader) -> SessionKey:
    return SessionKey(reader.number(I64), reader.blob(reader.number(U32)))


def _read_operation(reader: _Reader) -> Steps[Operation]:
    kind, number, path_bytes, data_bytes = reader.fields(HEAD)
    if kind == OperationKind.MULTI:
        writes = yield from _read_elements(reader, number, HEAD.size, _read_write)
        return Multi(tuple(writes))
    if kind == OperationKind.READS:
        reads = yield from _read_elements(reader, number, HEAD.size, _read_read)
        return Reads(tuple(reads))
    operation = _single(reader, kind, number, path_bytes, data_bytes)
    if isinstance(operation, Check):
        raise MalformedMessage("a check outside of a multi")
    return operation


def _read_write(reader: _Reader) -> WriteOperation:
    operation = _single(reader, *reader.fields(HEAD))
    if isinstance(operation, GetData | GetChildren | Exists):
        _refuse(operation, "a multi")
    return operation


def _read_read(reader: _Reader) -> ReadOperation:
    operation = _single(reader, *reader.fields(HEAD))
    if not isinstance(operation, GetData | GetChildren | Exists):
        _refuse(operation, "reads")
    return operation


def _refuse(operation: object, within: str) -> NoReturn:
    raise MalformedMessage(f"a {type(operation).__name__} within {within}")


def _single(
    reader: _Reader, kind: int, number: int, path_bytes: int, data_bytes: int
) -> WriteOperation | ReadOperation:
    path = reader.path(path_bytes)
    if data_bytes and kind not in (OperationKind.CREATE, OperationKind.SET_DATA):
        raise MalformedMessage(f"{data_bytes} bytes of data for an operation without data")
    if path == ROOT and kind in (OperationKind.CREATE, OperationKind.DELETE):
        raise MalformedMessage("the root is neither made nor deleted")
    if kind == OperationKind.SET_DATA:
        return SetData(path, reader.blob(data_bytes), number)
    if kind == OperationKind.CREATE:
        data = reader.blob(data_bytes)
        return Create(path, data, bool(number & EPHEMERAL), bool(number & SEQUENTIAL))
    if kind == OperationKind.CHECK:
        return Check(path, number)
    if kind == OperationKind.DELETE:
        return Delete(path, number)
    read = READ_KINDS.get(kind)
    if read is None:
        raise MalformedMessage(f"{kind} is no operation")
    return read(path, bool(number & WATCH))


def _read_elements(
    reader: _Reader,
    stated: int | None,
    least_bytes: int,
    read: Callable[[_Reader], T],
    per_step: int = ELEMENTS_PER_STEP,
) -> Steps[list[T]]:
    elements: list[T] = []
    count = reader.count(least_bytes, stated)
    stop_bytes = reader.copied_bytes + COPIED_BYTES_PER_STEP
    for index in range(count):
        elements.append(read(reader))
        if index % per_step == per_step - 1 or reader.copied_bytes > stop_bytes:
            stop_bytes = reader.copied_bytes + COPIED_BYTES_PER_STEP
            yield
    return elements


def _read_result(reader: _Reader) -> Steps[Result]:
    kind = reader.number(U8)
    if kind == ResultKind.COMMITTED:
        return Committed(tuple((yield from _read_elements(reader, None, 1, _read_write_result))))
    if kind == ResultKind.READ_RESULTS:
        results: list[ReadResult] = []
        for _ in range(reader.count(1)):
            results.append((yield from _read_read_result(reader, reader.number(U8))))
            yield
        return ReadResults(tuple(results))
    if kind in (ResultKind.DATA, ResultKind.CHILDREN, ResultKind.EXISTENCE, ResultKind.FAILED):
        return (yield from _read_read_result(reader, kind))
    return _write_result_of(reader, kind)


def _read_read_result(reader: _Reader, kind: int) -> Steps[ReadResult]:
    match kind:
        case ResultKind.DATA:
            stat = NodeStat(*reader.fields(STAT))
            return Data(reader.blob(reader.number(U32)), stat)
        case ResultKind.CHILDREN:
            names = yield from _read_elements(
                reader, None, U32.size, lambda some: some.text(some.number(U32)), NAMES_PER_STEP
            )
            return Children(tuple(names))
        case ResultKind.EXISTENCE:
            return Existence(NodeStat(*reader.fields(STAT)) if reader.number(U8) else None)
        case ResultKind.FAILED:
            number, index = reader.fields(FAILED)
            fault = _one_of(FAULTS, number, "fault")
            return Failed(fault, reader.text(reader.number(U32)), index)
    raise MalformedMessage(f"{kind} is no result of a read")


def _read_write_result(reader: _Reader) -> WriteResult:
    return _write_result_of(reader, reader.number(U8))


def _write_result_of(reader: _Reader, kind: int) -> WriteResult:
    match kind:
        case ResultKind.CREATED:
            return Created(reader.path(reader.number(U32)))
        case ResultKind.WRITTEN:
            return Written(reader.number(I64))
        case ResultKind.DELETED:
            return Deleted()
        case ResultKind.CHECKED:
            return Checked()
    raise MalformedMessage(f"{kind} is no result of a write")
