"""Messages that are stored, or sent from one client to another, with their version before them as an int16.

This is the form of the keys and values of `__consumer_offsets` and `__transaction_state`, of the values of
control records, and of the subscriptions and assignments of a consumer group's members. Worked example:
`0001 0002 6731 0001 74 00000003` is an OffsetCommitKey of version 1: group "g1", topic "t", partition 3.
"""

import struct
from typing import Final, TypeVar

from odradek.base.buffers import Buffer
from odradek.base.errors import MalformedRequest
from odradek.base.execution import Steps
from odradek.wire.message import Message

_VERSION: Final = struct.Struct(">h")
VERSION_BYTES: Final = _VERSION.size
"""The version before each message."""

M = TypeVar("M", bound=Message)


def version_of(data: Buffer) -> int:
    """The version before a message; for keys of internal topics it tells which kind follows."""
    if len(data) < VERSION_BYTES:
        raise MalformedRequest(f"{len(data)} bytes are too few for a version")
    (version,) = _VERSION.unpack_from(data)
    assert isinstance(version, int)
    return version


def decode_versioned(kind: type[M], data: Buffer) -> M:
    """The message after its version. Raises MalformedRequest, for unknown versions too."""
    return kind.decode(data, version_of(data), VERSION_BYTES)


def decode_foreign(kind: type[M], data: Buffer) -> M:
    """The message after its version, from a client that may know a later one than this broker.

    It is read as the latest known: later ones only add fields behind those of the ones before. Raises
    MalformedRequest.
    """
    version = min(version_of(data), kind.VERSIONS.highest)
    if version < kind.VERSIONS.lowest:
        raise MalformedRequest(f"version {version} of {kind.__name__}")
    return kind.decode(data, version, VERSION_BYTES, may_be_longer=True)


def encode_versioned(message: Message, version: int) -> bytes:
    """The message with its version before it."""
    return _VERSION.pack(version) + message.encode(version)


def encode_versioned_in_steps(message: Message, version: int) -> Steps[bytes]:
    """The same for a message that may have very many elements."""
    return b"".join((yield from message.encode_in_steps(version, _VERSION.pack(version))))
