"""The headers of requests and responses: API key, version, correlation id, client id.

Layouts, by the flexibility of the API's version (KIP-482):

    request   v1  api key int16, version int16, correlation id int32, client id nullable string
              v2  the same and tagged fields; the client id stays a string with a 16-bit length
    response  v0  correlation id int32
              v1  the same and tagged fields

ApiVersions is always answered in v0: a client that sends it cannot know the broker's versions yet.
A request of an unknown API or version decodes as v1, since its answer needs no more than that.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from odradek.base.buffers import Buffer
from odradek.base.errors import MalformedRequest
from odradek.wire.apis import API_VERSIONS, APIS
from odradek.wire.decoding import DECODING_ERRORS, ELEMENTS_AT_ONCE_MAX, ElementBudget, skip_tags
from odradek.wire.encoding import write_nullable_string

_FIXED: Final = struct.Struct(">hhi")
FIXED_BYTES: Final = _FIXED.size
decode_fixed: Final[Callable[[Buffer], tuple[int, int, int]]] = _FIXED.unpack_from
"""API key, version and correlation id, the first FIXED_BYTES of every request."""
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT32_NO_TAGS: Final = struct.Struct(">iB")
_NO_TAGS: Final = b"\0"


@dataclass(slots=True)
class RequestHeader:
    """The header of a request."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None = None


def decode_request_header(buffer: Buffer) -> tuple[RequestHeader, int]:
    """A request's header, and the position of its body. Raises MalformedRequest."""
    if len(buffer) < FIXED_BYTES:
        raise MalformedRequest(f"a request's header does not fit into {len(buffer)} bytes")
    api_key, api_version, correlation_id = decode_fixed(buffer)
    api = APIS.get(api_key)
    is_flexible = api is not None and api.flexible_from <= api_version <= api.versions.highest
    client_id, position = decode_client_id(buffer, is_flexible=is_flexible)
    return RequestHeader(api_key, api_version, correlation_id, client_id), position


def decode_client_id(buffer: Buffer, *, is_flexible: bool) -> tuple[str | None, int]:
    """The rest of a request's header, and the position of its body. Raises MalformedRequest.

    What is not UTF-8 in a client id is replaced: it is a name for people, and no reason to refuse a client.
    """
    try:
        (size_bytes,) = _INT16.unpack_from(buffer, FIXED_BYTES)
        begin = FIXED_BYTES + _INT16.size
        position = begin + max(0, size_bytes)
        client_id = None if size_bytes < 0 else str(buffer[begin:position], "utf-8", "replace")
        if is_flexible:
            if buffer[position] == 0:
                position += 1
            else:
                position = _skip_header_tags(buffer, position)
    except DECODING_ERRORS as error:
        raise MalformedRequest(f"a request's header does not decode from {len(buffer)} bytes") from error
    if position > len(buffer):
        raise MalformedRequest(f"a request's header ends after {len(buffer)} bytes, inside its client id")
    return client_id, position


def encode_request_header(header: RequestHeader) -> bytes:
    """A request's header, in the layout that its API and version call for."""
    out = bytearray(_FIXED.pack(header.api_key, header.api_version, header.correlation_id))
    write_nullable_string(out, header.client_id)
    if header.api_version >= APIS[header.api_key].flexible_from:
        out += _NO_TAGS
    return bytes(out)


def decode_response_header(buffer: Buffer, api_key: int, version: int) -> tuple[int, int]:
    """A response's correlation id, and the position of its body. Raises MalformedRequest."""
    try:
        (correlation_id,) = _INT32.unpack_from(buffer, 0)
        position = _INT32.size
        if has_tags(api_key, version):
            position = _skip_header_tags(buffer, position)
    except DECODING_ERRORS as error:
        raise MalformedRequest(f"a response's header does not decode from {len(buffer)} bytes") from error
    return correlation_id, position


def encode_response_header(api_key: int, version: int, correlation_id: int) -> bytes:
    """A response's header, in the layout that its API and version call for."""
    if version >= APIS[api_key].flexible_from and api_key != API_VERSIONS:  # `has_tags`, without the call
        return _INT32_NO_TAGS.pack(correlation_id, 0)
    return _INT32.pack(correlation_id)


def has_tags(api_key: int, version: int) -> bool:
    """Whether a response's header has tagged fields: version 1, not 0."""
    return version >= APIS[api_key].flexible_from and api_key != API_VERSIONS


def _skip_header_tags(buffer: Buffer, position: int) -> int:
    if buffer[position] == 0:
        return position + 1
    # Headers are decoded at once, not in steps: real clients send no tagged fields in them.
    return skip_tags(buffer, position, ElementBudget(ELEMENTS_AT_ONCE_MAX))
