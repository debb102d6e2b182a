import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.request_header.v1.header import RequestHeader as KioHeaderV1
from kio.schema.request_header.v2.header import RequestHeader as KioHeaderV2
from kio.serial import entity_writer
from kio.static.primitive import i16, i32

from odradek.base.errors import MalformedRequest
from odradek.wire.decoding import ELEMENTS_AT_ONCE_MAX
from odradek.wire.encoding import write_uvarint
from odradek.wire.headers import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
)

FETCH, METADATA, API_VERSIONS = 1, 3, 18


@given(st.integers(4, 18), st.integers(-(2**31), 2**31 - 1), st.one_of(st.none(), st.text(max_size=20)))
def test_request_headers_are_those_of_kio(version: int, correlation_id: int, client_id: str | None) -> None:
    kind = KioHeaderV2 if version >= 12 else KioHeaderV1
    theirs = kind(
        request_api_key=i16(FETCH),
        request_api_version=i16(version),
        correlation_id=i32(correlation_id),
        client_id=client_id,
    )
    with io.BytesIO() as stream:
        entity_writer(kind)(stream, theirs)
        expected = stream.getvalue()
    ours = RequestHeader(FETCH, version, correlation_id, client_id)
    assert encode_request_header(ours) == expected
    assert decode_request_header(expected + b"body") == (ours, len(expected))


def test_every_request_header_cut_short_is_malformed() -> None:
    data = encode_request_header(RequestHeader(FETCH, 13, 7, "client"))
    for size in range(len(data)):
        with pytest.raises(MalformedRequest, match="a request's header"):
            decode_request_header(data[:size])


def test_unknown_tagged_fields_of_a_request_header_are_skipped() -> None:
    data = encode_request_header(RequestHeader(FETCH, 13, 7, "client"))[:-1] + b"\x01\x05\x02ab"
    assert decode_request_header(data + b"body")[1] == len(data)


@pytest.mark.parametrize("count", [ELEMENTS_AT_ONCE_MAX, ELEMENTS_AT_ONCE_MAX + 1])
def test_a_request_header_has_no_more_tagged_fields_than_are_read_at_once(count: int) -> None:
    """It is decoded before the broker can do anything in steps."""
    data = bytearray(encode_request_header(RequestHeader(FETCH, 13, 7, "client"))[:-1])
    write_uvarint(data, count)
    data += b"\x05\x00" * count
    if count <= ELEMENTS_AT_ONCE_MAX:
        assert decode_request_header(data)[1] == len(data)
    else:
        with pytest.raises(MalformedRequest, match="a request's header"):
            decode_request_header(data)


def test_a_client_id_that_is_not_utf8_is_no_reason_to_refuse_a_client() -> None:
    """As in Kafka: programs name themselves in the code page of their machine."""
    data = b"\0\1\0\4\0\0\0\7\0\1\xff"
    assert decode_request_header(data) == (RequestHeader(FETCH, 4, 7, "\ufffd"), len(data))


@pytest.mark.parametrize(("api_key", "version"), [(999, 0), (FETCH, 19), (FETCH, 3), (API_VERSIONS, 99)])
def test_headers_of_unknown_apis_and_versions_decode(api_key: int, version: int) -> None:
    data = api_key.to_bytes(2, "big") + version.to_bytes(2, "big") + b"\0\0\0\7\0\2me"
    assert decode_request_header(data)[0] == RequestHeader(api_key, version, 7, "me")


@pytest.mark.parametrize(
    ("api_key", "version", "expected"),
    [
        pytest.param(METADATA, 8, b"\0\0\0\7", id="before flexible versions"),
        pytest.param(METADATA, 9, b"\0\0\0\7\0", id="flexible"),
        pytest.param(API_VERSIONS, 4, b"\0\0\0\7", id="ApiVersions never has tagged fields"),
    ],
)
def test_response_headers_follow_the_version(api_key: int, version: int, expected: bytes) -> None:
    assert encode_response_header(api_key, version, 7) == expected
    assert decode_response_header(expected + b"body", api_key, version) == (7, len(expected))
    for size in range(len(expected)):
        with pytest.raises(MalformedRequest, match="a response's header"):
            decode_response_header(expected[:size], api_key, version)
