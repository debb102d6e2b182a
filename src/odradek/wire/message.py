"""The base classes of the generated messages: structures of plain fields with a codec per version.

Invariants of all messages:

- Decoding trusts no byte: any fault raises MalformedRequest, which names the API, the version and the field.
  Encoding trusts its caller: a value that does not fit is a programming error and crashes.
- A field that a version does not have is left out when encoding, and takes its default when decoding.
- A tagged structure that is None is absent from the wire, which means Kafka's default for it; but one that
  may be null is never absent, since Kafka reads its absence as an empty structure.
- Durations are ints in milliseconds, error codes plain ints, ids UUIDs (zero is NO_TOPIC_ID), `records` views
  into the decoded buffer, which must not change while they live.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

from odradek.base.buffers import Buffer
from odradek.base.errors import MalformedRequest
from odradek.base.execution import Steps
from odradek.wire.decoding import (
    ARRAY_ELEMENTS_MAX,
    DECODING_ERRORS,
    ELEMENTS_AT_ONCE_MAX,
    ElementBudget,
    elements_max_of,
)
from odradek.wire.encoding import Payloads, gather
from odradek.wire.versions import Versions

Decoder: TypeAlias = Callable[[Buffer, int, ElementBudget], tuple[Any, int]]
ResponseT = TypeVar("ResponseT", bound="Message", covariant=True)
Encoder: TypeAlias = Callable[[bytearray, Any, Payloads], None]


class Structure:
    """A structure inside a message: equal by its fields, printed without what records and secrets hold."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _field_names(type(self)))

    def __repr__(self) -> str:
        shown = (f"{name}={_show(getattr(self, name))}" for name in _field_names(type(self)))
        return f"{type(self).__name__}({', '.join(shown)})"


class Message(Structure):
    """A request, a response, or a record that is stored on its own.

    Subclasses are written by `odradek.wire.generator`, one per message over all its versions.
    """

    __slots__ = ()

    # The key of its API; -1 for stored records.
    API_KEY: ClassVar[int]
    # The versions that `decode` and `encode` know.
    VERSIONS: ClassVar[Versions]
    # The first version with compact lengths and tagged fields (KIP-482); VERSION_LIMIT when there is none.
    FLEXIBLE_FROM: ClassVar[int]
    # The field table of the module (`odradek.wire.schema`), which `explain` walks when decoding failed.
    SCHEMA: ClassVar[str]
    DECODERS: ClassVar[Mapping[int, Decoder]]
    ENCODERS: ClassVar[Mapping[int, Encoder]]

    @classmethod
    def decode(
        cls,
        buffer: Buffer,
        version: int,
        position: int = 0,
        *,
        array_elements_max: int = ARRAY_ELEMENTS_MAX,
        may_be_longer: bool = False,
    ) -> Self:
        """Decode the bytes from `position` to the buffer's end: all of them, unless it `may_be_longer`.

        Brokers read that way: librdkafka writes three bytes too many when it asks for all topics, and Kafka
        has never minded. Arrays may hold `array_elements_max` elements together. Raises MalformedRequest.
        """
        try:
            message, end = cls.DECODERS[version](buffer, position, ElementBudget(array_elements_max))
        except DECODING_ERRORS as error:
            raise cls._malformed(buffer, version, position, array_elements_max) from error
        if end != len(buffer) and (end > len(buffer) or not may_be_longer):
            raise cls._malformed(buffer, version, position, array_elements_max)
        assert isinstance(message, cls)
        return message

    @classmethod
    def begin_decoding(cls, buffer: Buffer, version: int, position: int = 0) -> Self | Steps[Self]:
        """Decode a peer's request, which may be longer: at once, or in steps when it holds many elements.

        It may hold `elements_max_of` its size. Raises MalformedRequest, and the steps do.
        """
        elements_max = elements_max_of(len(buffer))
        is_small = elements_max < ELEMENTS_AT_ONCE_MAX
        budget = ElementBudget(elements_max if is_small else ELEMENTS_AT_ONCE_MAX)
        try:
            message, end = cls.DECODERS[version](buffer, position, budget)
        except DECODING_ERRORS as error:
            if budget.left < 0 and elements_max > ELEMENTS_AT_ONCE_MAX:
                return cls._decode_in_steps(buffer, version, position, elements_max)
            raise cls._malformed(buffer, version, position, elements_max) from error
        if end > len(buffer):
            raise cls._malformed(buffer, version, position, elements_max)
        assert isinstance(message, cls)
        return message

    @classmethod
    def _decode_in_steps(cls, buffer: Buffer, version: int, position: int, elements_max: int) -> Steps[Self]:
        # Loaded when there is a large message to decode: a start need not wait for it.
        from odradek.wire.stepwise import decode_steps

        try:
            message, end = yield from decode_steps(
                cls, buffer, version, position, ElementBudget(elements_max)
            )
        except DECODING_ERRORS as error:
            raise cls._malformed(buffer, version, position, elements_max) from error
        if end > len(buffer):
            raise cls._malformed(buffer, version, position, elements_max)
        assert isinstance(message, cls)
        return message

    @classmethod
    def _malformed(
        cls, buffer: Buffer, version: int, position: int, array_elements_max: int
    ) -> MalformedRequest:
        # Loaded when there is something to explain: a start need not wait for it.
        from odradek.wire.explain import malformed

        return malformed(cls.__name__, cls.SCHEMA, buffer, version, position, array_elements_max)

    def encode(self, version: int) -> bytes:
        """The message's bytes in a version that VERSIONS holds."""
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int, head: bytes = b"") -> list[Buffer]:
        """The message's bytes in pieces, to be written one after the other, and `head` in front of them.

        What is large among `records` is passed through uncopied, as the very object that the message holds.
        """
        out = bytearray(head)
        payloads: Payloads = []
        self.ENCODERS[version](out, self, payloads)
        return gather(out, payloads) if payloads else [out]

    def encode_in_steps(self, version: int, head: bytes = b"") -> Steps[list[Buffer]]:
        """The same for a message that may have many elements, a few of them in each step."""
        # Loaded when there is a large message to encode: a start need not wait for it.
        from odradek.wire.encoding_steps import encode_in_steps

        return encode_in_steps(self, version, head)


class Request(Message, Generic[ResponseT]):
    """A request; `ResponseT` is the class of its response, for type checkers (at run time `apis` has it)."""

    __slots__ = ()


def _field_names(kind: type[Any]) -> list[str]:
    return [one.name for one in fields(kind)]


def _show(value: object) -> str:
    """A field's value for a log line: bytes by their size alone, they may be a megabyte or a password."""
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value)} bytes>"
    return repr(value)
