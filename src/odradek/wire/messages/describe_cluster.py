"""Generated from `schemas/describe_cluster.fields` by `odradek.wire.generator`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar, Final

from odradek.base.buffers import Buffer
from odradek.wire.decoding import (
    ElementBudget,
    new,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    skip_tags,
)
from odradek.wire.encoding import (
    Payloads,
    write_compact_count,
    write_compact_nullable_string,
    write_compact_string,
)
from odradek.wire.message import Decoder, Encoder, Message, Request, Structure
from odradek.wire.versions import Versions

FIELD_TABLE: Final = """
api 60 DescribeCluster

request DescribeClusterRequest 0-2 flexible 0+
    include_cluster_authorized_operations: bool
    endpoint_type: int8 @1+ = 1
    include_fenced_brokers: bool @2+

response DescribeClusterResponse 0-2 flexible 0+
    throttle_time_ms: int32
    error_code: int16
    error_message: string? = null
    endpoint_type: int8 @1+ = 1
    cluster_id: string
    controller_id: int32 = -1
    brokers: [DescribeClusterBroker]
        broker_id: int32
        host: string
        port: int32
        rack: string? = null
        is_fenced: bool @2+
    cluster_authorized_operations: int32 = -2147483648
"""


_unpack_ot: Final = Struct(">?B").unpack_from
_unpack_obot: Final = Struct(">?b?B").unpack_from
_unpack_obt: Final = Struct(">?bB").unpack_from
_unpack_b: Final = Struct(">b").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_it: Final = Struct(">iB").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_pack_ot: Final = Struct(">?B").pack
_pack_obot: Final = Struct(">?b?B").pack
_pack_obt: Final = Struct(">?bB").pack
_pack_b: Final = Struct(">b").pack
_pack_i: Final = Struct(">i").pack
_pack_it: Final = Struct(">iB").pack
_pack_ih: Final = Struct(">ih").pack


def _read_describe_cluster_request_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeClusterRequest, int]:
    item = new(DescribeClusterRequest)
    item.endpoint_type = 1
    item.include_fenced_brokers = False
    item.include_cluster_authorized_operations, tags = _unpack_ot(buffer, at)
    at += 2
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_cluster_request_v0(
    out: bytearray, item: DescribeClusterRequest, payloads: Payloads
) -> None:
    out += _pack_ot(item.include_cluster_authorized_operations, 0)


def _read_describe_cluster_request_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeClusterRequest, int]:
    item = new(DescribeClusterRequest)
    item.include_fenced_brokers = False
    item.include_cluster_authorized_operations, item.endpoint_type, tags = _unpack_obt(buffer, at)
    at += 3
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_cluster_request_v1(
    out: bytearray, item: DescribeClusterRequest, payloads: Payloads
) -> None:
    out += _pack_obt(item.include_cluster_authorized_operations, item.endpoint_type, 0)


def _read_describe_cluster_request_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeClusterRequest, int]:
    item = new(DescribeClusterRequest)
    item.include_cluster_authorized_operations, item.endpoint_type, item.include_fenced_brokers, tags = (
        _unpack_obot(buffer, at)
    )
    at += 4
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_cluster_request_v2(
    out: bytearray, item: DescribeClusterRequest, payloads: Payloads
) -> None:
    out += _pack_obot(
        item.include_cluster_authorized_operations, item.endpoint_type, item.include_fenced_brokers, 0
    )


@dataclass(slots=True, eq=False, repr=False)
class DescribeClusterRequest(Request["DescribeClusterResponse"]):
    """Versions 0 to 2, flexible."""

    API_KEY: ClassVar[int] = 60
    VERSIONS: ClassVar[Versions] = Versions(0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_describe_cluster_request_v0,
        1: _read_describe_cluster_request_v1,
        2: _read_describe_cluster_request_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_describe_cluster_request_v0,
        1: _write_describe_cluster_request_v1,
        2: _write_describe_cluster_request_v2,
    }

    include_cluster_authorized_operations: bool = False
    endpoint_type: int = 1  # v1+
    include_fenced_brokers: bool = False  # v2+


@dataclass(slots=True, eq=False, repr=False)
class DescribeClusterBroker(Structure):
    """DescribeClusterResponse.brokers[]"""

    broker_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None
    is_fenced: bool = False  # v2+


def _read_describe_cluster_broker_v0_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeClusterBroker], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeClusterBroker)
        item.is_fenced = False
        (item.broker_id,) = _unpack_i(buffer, at)
        at += 4
        item.host, at = read_compact_string(buffer, at)
        (item.port,) = _unpack_i(buffer, at)
        at += 4
        item.rack, at = read_compact_nullable_string(buffer, at)
        tags = buffer[at]
        at += 1
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_describe_cluster_broker_v0_array(out: bytearray, items: list[DescribeClusterBroker]) -> None:
    for item in items:
        out += _pack_i(item.broker_id)
        write_compact_string(out, item.host)
        out += _pack_i(item.port)
        write_compact_nullable_string(out, item.rack)
        out.append(0)


def _read_describe_cluster_broker_v2_array(
    buffer: Buffer, at: int, elements: int, budget: ElementBudget
) -> tuple[list[DescribeClusterBroker], int]:
    items = []
    for _ in range(elements):
        item = new(DescribeClusterBroker)
        (item.broker_id,) = _unpack_i(buffer, at)
        at += 4
        item.host, at = read_compact_string(buffer, at)
        (item.port,) = _unpack_i(buffer, at)
        at += 4
        item.rack, at = read_compact_nullable_string(buffer, at)
        item.is_fenced, tags = _unpack_ot(buffer, at)
        at += 2
        if tags:
            at = skip_tags(buffer, at - 1, budget)
        items.append(item)
    return items, at


def _write_describe_cluster_broker_v2_array(out: bytearray, items: list[DescribeClusterBroker]) -> None:
    for item in items:
        out += _pack_i(item.broker_id)
        write_compact_string(out, item.host)
        out += _pack_i(item.port)
        write_compact_nullable_string(out, item.rack)
        out += _pack_ot(item.is_fenced, 0)


def _read_describe_cluster_response_v0(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeClusterResponse, int]:
    item = new(DescribeClusterResponse)
    item.endpoint_type = 1
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    item.error_message, at = read_compact_nullable_string(buffer, at)
    item.cluster_id, at = read_compact_string(buffer, at)
    (item.controller_id,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 11, budget)
    item.brokers, at = _read_describe_cluster_broker_v0_array(buffer, at, count, budget)
    item.cluster_authorized_operations, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_cluster_response_v0(
    out: bytearray, item: DescribeClusterResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_nullable_string(out, item.error_message)
    write_compact_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    write_compact_count(out, item.brokers)
    _write_describe_cluster_broker_v0_array(out, item.brokers)
    out += _pack_it(item.cluster_authorized_operations, 0)


def _read_describe_cluster_response_v1(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeClusterResponse, int]:
    item = new(DescribeClusterResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    item.error_message, at = read_compact_nullable_string(buffer, at)
    (item.endpoint_type,) = _unpack_b(buffer, at)
    at += 1
    item.cluster_id, at = read_compact_string(buffer, at)
    (item.controller_id,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 11, budget)
    item.brokers, at = _read_describe_cluster_broker_v0_array(buffer, at, count, budget)
    item.cluster_authorized_operations, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_cluster_response_v1(
    out: bytearray, item: DescribeClusterResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_nullable_string(out, item.error_message)
    out += _pack_b(item.endpoint_type)
    write_compact_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    write_compact_count(out, item.brokers)
    _write_describe_cluster_broker_v0_array(out, item.brokers)
    out += _pack_it(item.cluster_authorized_operations, 0)


def _read_describe_cluster_response_v2(
    buffer: Buffer, at: int, budget: ElementBudget
) -> tuple[DescribeClusterResponse, int]:
    item = new(DescribeClusterResponse)
    item.throttle_time_ms, item.error_code = _unpack_ih(buffer, at)
    at += 6
    item.error_message, at = read_compact_nullable_string(buffer, at)
    (item.endpoint_type,) = _unpack_b(buffer, at)
    at += 1
    item.cluster_id, at = read_compact_string(buffer, at)
    (item.controller_id,) = _unpack_i(buffer, at)
    at += 4
    count, at = read_compact_count(buffer, at, 12, budget)
    item.brokers, at = _read_describe_cluster_broker_v2_array(buffer, at, count, budget)
    item.cluster_authorized_operations, tags = _unpack_it(buffer, at)
    at += 5
    if tags:
        at = skip_tags(buffer, at - 1, budget)
    return item, at


def _write_describe_cluster_response_v2(
    out: bytearray, item: DescribeClusterResponse, payloads: Payloads
) -> None:
    out += _pack_ih(item.throttle_time_ms, item.error_code)
    write_compact_nullable_string(out, item.error_message)
    out += _pack_b(item.endpoint_type)
    write_compact_string(out, item.cluster_id)
    out += _pack_i(item.controller_id)
    write_compact_count(out, item.brokers)
    _write_describe_cluster_broker_v2_array(out, item.brokers)
    out += _pack_it(item.cluster_authorized_operations, 0)


@dataclass(slots=True, eq=False, repr=False)
class DescribeClusterResponse(Message):
    """Versions 0 to 2, flexible."""

    API_KEY: ClassVar[int] = 60
    VERSIONS: ClassVar[Versions] = Versions(0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0
    SCHEMA: ClassVar[str] = FIELD_TABLE
    DECODERS: ClassVar[dict[int, Decoder]] = {
        0: _read_describe_cluster_response_v0,
        1: _read_describe_cluster_response_v1,
        2: _read_describe_cluster_response_v2,
    }
    ENCODERS: ClassVar[dict[int, Encoder]] = {
        0: _write_describe_cluster_response_v0,
        1: _write_describe_cluster_response_v1,
        2: _write_describe_cluster_response_v2,
    }

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    endpoint_type: int = 1  # v1+
    cluster_id: str = ""
    controller_id: int = -1
    brokers: list[DescribeClusterBroker] = field(default_factory=list)
    cluster_authorized_operations: int = -2147483648
