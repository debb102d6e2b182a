"""Encodes the messages between brokers and the metadata store's process; `decoding` is the way back.

A message is one frame: a byte for its kind, then its fields, big-endian (`layout`). Text and bytes have a
length of four bytes. All operations have the same head, so that reading one takes one call:

    02 | 0000000000000007 | 02 | 0000000000000003 | 0000000b | 00000002 | /controller | {}
    the operation of call 7: SetData, on condition of version 3; the sizes of its path and of its data

A message of thousands of elements is encoded in steps. Large data is not copied.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, TypeVar

from odradek.base.buffers import Buffer
from odradek.base.execution import Steps
from odradek.metadata.service.layout import (
    CALL,
    CHANGE_NUMBERS,
    ELEMENTS_PER_STEP,
    EPHEMERAL,
    FAILED,
    FAULT_NUMBERS,
    HEAD,
    I64,
    KINDS_OF_READS,
    LIMITS,
    NAMES_PER_STEP,
    OPEN,
    SEQUENTIAL,
    STAT,
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
    Message,
    OpenSession,
    ResumeSession,
    SessionBegan,
    SessionKey,
    Submitted,
)
from odradek.metadata.store import (
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
    Failed,
    Multi,
    Operation,
    ReadOperation,
    ReadResults,
    Reads,
    Reconnected,
    Result,
    SessionEnded,
    SetData,
    StoreReplied,
    WatchFired,
    WriteOperation,
    Written,
)

T = TypeVar("T")

JOINED_BYTES_MAX: Final = 32 * 1024
"""Data above this is a part of its own, and is not copied."""


class _Writer:
    """Gathers the parts of one message."""

    __slots__ = ("out", "parts")

    def __init__(self) -> None:
        self.parts: list[Buffer] = []
        """What is complete, before `out`."""
        self.out = bytearray()

    def blob(self, data: bytes) -> None:
        """Add bytes whose length is written already."""
        if len(data) <= JOINED_BYTES_MAX:
            self.out += data
        else:
            self.parts.append(self.out)
            self.parts.append(data)
            self.out = bytearray()

    def text(self, text: str) -> None:
        """Add a text with its length."""
        data = text.encode()
        self.out += U32.pack(len(data))
        self.out += data

    def ended(self) -> list[Buffer]:
        """All parts, at least one."""
        if self.out:
            self.parts.append(self.out)
        return [part for part in self.parts if part]


def encode(message: Message) -> Steps[list[Buffer]]:
    """Encode a message into the parts of a frame's payload."""
    writer = _Writer()
    out = writer.out
    match message:
        case Submitted(call_id, operation):
            out += CALL.pack(Kind.SUBMIT, call_id)
            yield from _write_operation(writer, operation)
        case StoreReplied(call_id, result):
            out += CALL.pack(Kind.REPLIED, call_id)
            yield from _write_result(writer, result)
        case Heartbeat():
            out.append(Kind.HEARTBEAT)
        case WatchFired(path, change):
            out += bytes((Kind.FIRED, CHANGE_NUMBERS[change]))
            writer.text(path)
        case OpenSession(timeout_ms, broker_id, former):
            out.append(Kind.OPEN)
            out += OPEN.pack(timeout_ms, broker_id, former is not None)
            if former is not None:
                _write_key(writer, former)
        case ResumeSession(key):
            out.append(Kind.RESUME)
            _write_key(writer, key)
        case SessionBegan(key):
            out.append(Kind.BEGAN)
            _write_key(writer, key)
        case Greeting(version, limits):
            out.append(Kind.GREETING)
            out += LIMITS.pack(
                version, limits.node_bytes_max, limits.multi_operations_max, limits.multi_bytes_max
            )
        case CloseSession():
            out.append(Kind.CLOSE)
        case Reconnected():
            out.append(Kind.RECONNECTED)
        case SessionEnded():
            out.append(Kind.ENDED)
    return writer.ended()


def _write_key(writer: _Writer, key: SessionKey) -> None:
    writer.out += I64.pack(key.session_id)
    writer.out += U32.pack(len(key.secret))
    writer.blob(key.secret)


def _write_operation(writer: _Writer, operation: Operation) -> Steps[None]:
    match operation:
        case Multi(operations):
            writer.out += HEAD.pack(OperationKind.MULTI, len(operations), 0, 0)
            yield from _write_elements(writer, operations, _write_single)
        case Reads(reads):
            writer.out += HEAD.pack(OperationKind.READS, len(reads), 0, 0)
            yield from _write_elements(writer, reads, _write_single)
        case _:
            _write_single(writer, operation)


def _write_elements(
    writer: _Writer,
    elements: Sequence[T],
    write: Callable[[_Writer, T], None],
    per_step: int = ELEMENTS_PER_STEP,
) -> Steps[None]:
    for begin in range(0, len(elements), per_step):
        if begin:
            yield
        for element in elements[begin : begin + per_step]:
            write(writer, element)


def _write_single(writer: _Writer, operation: WriteOperation | ReadOperation) -> None:
    path, data = operation.path.encode(), b""
    match operation:
        case Create(_, data, ephemeral, sequential):
            kind, number = OperationKind.CREATE, ephemeral * EPHEMERAL + sequential * SEQUENTIAL
        case SetData(_, data, version):
            kind, number = OperationKind.SET_DATA, version
        case Delete(_, version):
            kind, number = OperationKind.DELETE, version
        case Check(_, version):
            kind, number = OperationKind.CHECK, version
        case _:
            kind, number = KINDS_OF_READS[type(operation)], operation.watch * WATCH
    writer.out += HEAD.pack(kind, number, len(path), len(data)) + path
    writer.blob(data)


def _write_result(writer: _Writer, result: Result) -> Steps[None]:
    match result:
        case Committed(results):
            writer.out.append(ResultKind.COMMITTED)
            writer.out += U32.pack(len(results))
            yield from _write_elements(writer, results, _write_small_result)
        case ReadResults(results):
            writer.out.append(ResultKind.READ_RESULTS)
            writer.out += U32.pack(len(results))
            for each in results:
                yield from _write_result(writer, each)
                yield
        case Children(names):
            writer.out.append(ResultKind.CHILDREN)
            writer.out += U32.pack(len(names))
            yield from _write_elements(writer, names, _Writer.text, NAMES_PER_STEP)
        case _:
            _write_small_result(writer, result)


_SmallResult: TypeAlias = Created | Written | Deleted | Checked | Data | Existence | Failed


def _write_small_result(writer: _Writer, result: _SmallResult) -> None:
    out = writer.out
    match result:
        case Data(data, stat):
            out.append(ResultKind.DATA)
            out += STAT.pack(*stat) + U32.pack(len(data))
            writer.blob(data)
        case Created(path):
            out.append(ResultKind.CREATED)
            writer.text(path)
        case Written(version):
            out.append(ResultKind.WRITTEN)
            out += I64.pack(version)
        case Deleted():
            out.append(ResultKind.DELETED)
        case Checked():
            out.append(ResultKind.CHECKED)
        case Existence(found):
            out += bytes((ResultKind.EXISTENCE, found is not None))
            if found is not None:
                out += STAT.pack(*found)
        case Failed(fault, path, index):
            out.append(ResultKind.FAILED)
            out += FAILED.pack(FAULT_NUMBERS[fault], index)
            writer.text(path)
