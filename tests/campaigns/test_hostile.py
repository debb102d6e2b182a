"""The hostile requests of campaigns: that each is what it is named after, and not refused for another reason.

A stream that is invalid from its first byte on costs nothing, whatever the broker does about the rest.
"""

import random
import zlib

import pytest
from campaigns.hostile import DEFLATE_BLOCKS, EMPTY_PIECES, Padding, pipelined, tagged_fields

from odradek.base.errors import InvalidRecord, MalformedRequest
from odradek.net.framing import SCRATCH_BYTES
from odradek.records.compression import Codec, decompress
from odradek.wire.headers import decode_request_header
from odradek.wire.messages.list_groups import ListGroupsRequest

PIECES_BYTES = 30_000
GZIP_WINDOW_BITS = 31


@pytest.mark.parametrize("padding", DEFLATE_BLOCKS + EMPTY_PIECES)
def test_a_decompressor_without_bounds_reads_all_pieces(padding: Padding) -> None:
    packed = padding.packed(PIECES_BYTES)
    if padding.codec is Codec.GZIP:  # its bound counts output, and cannot be lifted
        size_bytes = 0
        while packed:
            inflater = zlib.decompressobj(GZIP_WINDOW_BITS)
            size_bytes += len(inflater.decompress(packed))
            assert inflater.eof or not padding.opening
            packed = inflater.unused_data
    else:
        size_bytes = len(decompress(padding.codec, packed, blocks_free=PIECES_BYTES))
    assert size_bytes <= PIECES_BYTES // len(padding.piece)


@pytest.mark.parametrize("padding", DEFLATE_BLOCKS + EMPTY_PIECES)
def test_a_broker_refuses_them_for_what_they_are(padding: Padding) -> None:
    with pytest.raises(InvalidRecord, match=r"in more than|hold only"):
        decompress(padding.codec, padding.packed(PIECES_BYTES))


def outcome_of(frame: bytes) -> str:
    """Where the tagged fields are, and whether they are read or refused."""
    try:
        header, position = decode_request_header(frame)
    except MalformedRequest:
        return "refused in the header"
    where = "header" if position > len(frame) // 2 else "body"
    try:
        ListGroupsRequest.decode(frame, header.api_version, position)
    except MalformedRequest as refusal:
        return f"refused in the {where}" if "tagged fields" in str(refusal) else str(refusal)
    return f"read in the {where}"


def test_tagged_fields_are_read_up_to_their_number_and_refused_above_it() -> None:
    outcomes = {outcome_of(tagged_fields(random.Random(seed))[4:]) for seed in range(60)}
    expected = {
        f"{outcome} in the {where}" for outcome in ("read", "refused") for where in ("header", "body")
    }
    assert outcomes == expected


def test_one_read_of_a_socket_brings_the_longest_row_of_requests() -> None:
    """Otherwise a broker that handles all that it has read in one turn would still have short turns."""
    longest = max((pipelined(random.Random(seed)) for seed in range(30)), key=len)
    assert SCRATCH_BYTES // 2 < len(longest) <= SCRATCH_BYTES
