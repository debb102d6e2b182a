"""Describes why bytes could not be decoded: which field, at which position, and the reason.

It is a second, slow and simple reader of messages: it follows the field table value by value and records its
path. So the generated decoders need no error texts, and tests compare the two readers. It stops at the first
fault, and reads only the first elements of a large message: malformed bytes take no more of the broker's time
than valid ones.
"""

from functools import lru_cache
from typing import Final

from odradek.base.buffers import Buffer
from odradek.base.errors import MalformedRequest
from odradek.wire.decoding import STRING_BYTES_MAX, TAGGED_FIELDS_MAX, UVARINT_BYTES_MAX
from odradek.wire.schema import LENGTH_BYTES, SCALAR_BYTES_MIN, Field, MessageSchema, Struct, parse

# How many array elements are looked at before the search is given up.
ELEMENTS_WALKED_MAX: Final = 1000

_ARRAY_LENGTH_BYTES: Final = 4


def malformed(
    name: str, schema: str, buffer: Buffer, version: int, position: int, array_elements_max: int
) -> MalformedRequest:
    """The error for bytes from `position` on that are not the message `name` in a version.

    `schema` is the field table that holds the message (`Message.SCHEMA`).
    """
    message = _message_schema(schema, name)
    if version not in message.versions:
        lowest, highest = message.versions
        return MalformedRequest(f"{name} v{version}: only versions {lowest} to {highest} are known")
    walk = _Walk(buffer, position, version, message.is_flexible(version), array_elements_max)
    try:
        walk.structure(message)
        walk.end()
    except _Fault as fault:
        field = "".join(walk.path).lstrip(".")
        where = f" {field}:" if field else ""
        return MalformedRequest(f"{name} v{version}:{where} {fault} (at byte {walk.at} of {len(buffer)})")
    return MalformedRequest(f"{name} v{version}: {len(buffer)} bytes that do not decode")


@lru_cache(256)
def _message_schema(schema: str, name: str) -> MessageSchema:
    return next(one for one in parse(schema).messages if one.name == name)


class _Fault(Exception):
    """The description of a fault; its place is in the walk's path."""


class _Walk:
    """One walk over one message."""

    def __init__(
        self, buffer: Buffer, position: int, version: int, flexible: bool, array_elements_max: int
    ) -> None:
        self.buffer = buffer
        self.version = version
        self.flexible = flexible
        # Where the next value begins; never beyond the buffer's end.
        self.at = position
        # The names and indexes that lead to the field being read; left as it is when a fault is raised.
        self.path: list[str] = []
        self.elements_max = array_elements_max
        # How many array elements and tagged fields the message has announced so far.
        self.elements = 0
        # How many of them were walked.
        self.walked = 0

    def structure(self, owner: Struct) -> None:
        """Walk the fields of a structure, then its tagged fields."""
        for one in owner.fields_in(self.version):
            self.path.append(f".{one.name}")
            self.value(one)
            self.path.pop()
        if self.flexible:
            self.tagged_fields(owner)

    def end(self) -> None:
        """The message is over, the bytes should be too."""
        if self.at != len(self.buffer):
            raise _Fault(f"{len(self.buffer) - self.at} bytes too many")

    def value(self, one: Field) -> None:
        """Walk one field, whatever its type."""
        nullable = one.nullable_in(self.version)
        if one.is_array:
            self.array(one, nullable)
        elif one.struct is None:
            self.scalar(one.type, nullable)
        elif not nullable or self.is_present(one):
            self.structure(one.struct)

    def is_present(self, one: Field) -> bool:
        """Whether a structure follows that may be null; null is 0 in a tagged field, and -1 elsewhere."""
        return self.byte() < 128 if one.tag is None else self.byte() != 0

    def array(self, one: Field, nullable: bool) -> None:
        """Walk an array's count and its elements."""
        count = self.length(_ARRAY_LENGTH_BYTES, nullable, "an array")
        self.announce(count)
        if one.struct is None and one.type not in LENGTH_BYTES:
            self.take(count * SCALAR_BYTES_MIN[one.type])
            return
        if count > len(self.buffer) - self.at:
            raise _Fault(f"{count} elements announced, {len(self.buffer) - self.at} bytes left")
        for index in range(count):
            self.walked += 1
            if self.walked > ELEMENTS_WALKED_MAX:
                raise _Fault(f"somewhere behind the first {ELEMENTS_WALKED_MAX} elements")
            self.path.append(f"[{index}]")
            if one.struct is None:
                self.scalar(one.type, False)
            else:
                self.structure(one.struct)
            self.path.pop()

    def scalar(self, type_name: str, nullable: bool) -> None:
        """Walk one value that has no parts."""
        if type_name not in LENGTH_BYTES:
            self.take(SCALAR_BYTES_MIN[type_name])
            return
        size = self.length(LENGTH_BYTES[type_name], nullable, type_name)
        if type_name == "string" and size > STRING_BYTES_MAX:
            raise _Fault(f"a string of {size} bytes, more than {STRING_BYTES_MAX}")
        data = self.take(size)
        if type_name == "string":
            try:
                str(data, "utf-8")
            except UnicodeDecodeError as error:
                raise _Fault(f"not UTF-8: {error.reason}") from error

    def tagged_fields(self, owner: Struct) -> None:
        """Walk the tagged fields: the known ones by their types, the others by their sizes."""
        known = {one.tag: one for one in owner.tagged_fields_in(self.version)}
        self.path.append(".tagged fields")
        count = self.uvarint()
        self.announce(count)
        if count > TAGGED_FIELDS_MAX:
            raise _Fault(f"more than {TAGGED_FIELDS_MAX} tagged fields in one structure")
        if 2 * count > len(self.buffer) - self.at:
            raise _Fault(f"{count} tagged fields announced, {len(self.buffer) - self.at} bytes left")
        for _ in range(count):
            tag = self.uvarint()
            size = self.uvarint()
            self.need(size)
            end = self.at + size
            if tag not in known:
                self.at = end
                continue
            self.path[-1] = f".{known[tag].name}"
            self.value(known[tag])
            if self.at != end:
                raise _Fault(f"{size} bytes announced for a tagged field that is not as long")
        self.path.pop()

    def length(self, size_bytes: int, nullable: bool, what: str) -> int:
        """A length; that of null counts as zero."""
        if self.flexible:
            length = self.uvarint() - 1
        else:
            length = int.from_bytes(self.take(size_bytes), "big", signed=True)
        if length == -1 and not nullable:
            raise _Fault(f"null for {what} that may not be null")
        if length < -1:
            raise _Fault(f"a length of {length}")
        return max(length, 0)

    def uvarint(self) -> int:
        """An unsigned varint of at most 32 bits."""
        value = 0
        for index in range(UVARINT_BYTES_MAX):
            byte = self.byte()
            value |= (byte & 127) << (7 * index)
            if byte < 128:
                if value >> 32:
                    break
                return value
        raise _Fault("a varint of more than 32 bits")

    def byte(self) -> int:
        """One byte."""
        return self.take(1)[0]

    def take(self, size: int) -> Buffer:
        """The next bytes."""
        self.need(size)
        self.at += size
        return self.buffer[self.at - size : self.at]

    def need(self, size: int) -> None:
        """Some bytes must follow."""
        left = len(self.buffer) - self.at
        if size > left:
            raise _Fault(f"{size} bytes needed, {left} left")

    def announce(self, count: int) -> None:
        """Elements are announced, which count against what a message may hold."""
        self.elements += count
        if self.elements > self.elements_max:
            raise _Fault(f"more than {self.elements_max} array elements in one message")
