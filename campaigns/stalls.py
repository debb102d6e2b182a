"""`./dev stalls`: one request with very many names, and how long other clients wait for it.

Each case sends one request over one connection. Meanwhile a second connection asks a small question again and
again, and notes the longest wait for an answer: for so long the request held the broker. Every answer must
come without an error, and no wait may be above the limit. Each family of cases has a broker of its own: a
partition costs an open file.
"""

import argparse
import json
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Final

from campaigns.corpus import framed
from odradek.base.error_codes import ErrorCode
from odradek.records.builder import BatchBuilder
from odradek.testing.broker_process import BrokerProcess
from odradek.wire.apis import APIS
from odradek.wire.headers import RequestHeader, decode_response_header
from odradek.wire.message import Message
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.wire.messages.delete_topics import DeleteTopicsRequest
from odradek.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from odradek.wire.messages.describe_groups import DescribeGroupsRequest
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from odradek.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from odradek.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
)
from odradek.wire.messages.describe_topic_partitions import TopicRequest as DescribedTopic
from odradek.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from odradek.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

SIZE: Final = 8_000
"""Partitions, topics or groups that a request names: each log costs a file, and a broker of a case holds two
thousand more."""
STALL_MAX_MS: Final = 100.0
TIMEOUT_S: Final = 180.0
TOPIC: Final = "wide"
GROUP: Final = "many"
EARLIEST: Final = -2
ELEMENTS_MAX: Final = 10_000_000
CLIENT_ID: Final = "stalls"
TIMEOUT_MS: Final = 120_000
WARM_UP_S: Final = 0.1
PROBE_PAUSE_S: Final = 0.0005
CONSUMER: Final = -1

_INT32 = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class Case:
    """One request, in one version of its API."""

    name: str
    request: Message
    version: int
    # An error code that this case expects.
    allowed: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one case took: the request, and the longest wait of the other connection."""

    case: str
    request_ms: float
    longest_wait_ms: float
    answer_bytes: int


class Connection:
    """A socket that takes whole frames; encoding and decoding stay outside what is measured."""

    def __init__(self, broker: BrokerProcess) -> None:
        self._socket = socket.create_connection((broker.host, broker.port), TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def exchange(self, frame: bytes) -> bytes:
        """Send a frame; the next one that comes, without its length."""
        self._socket.sendall(frame)
        return self._read(_INT32.unpack(self._read(4))[0])

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def _read(self, count: int) -> bytes:
        received = bytearray(count)
        view, filled = memoryview(received), 0
        while filled < count:
            got = self._socket.recv_into(view[filled:])
            if not got:
                raise SystemExit("the broker closed the connection")
            filled += got
        return bytes(received)


class Prober:
    """Asks for the API versions on a connection of its own, again and again, and notes the longest wait."""

    def __init__(self, broker: BrokerProcess) -> None:
        self._connection = Connection(broker)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._ask_on)
        self.longest_ms = 0.0

    def __enter__(self) -> "Prober":
        self._thread.start()
        time.sleep(WARM_UP_S)
        self.longest_ms = 0.0
        return self

    def __exit__(self, *raised: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._connection.close()

    def _ask_on(self) -> None:
        question = frame_of(Case("probe", ApiVersionsRequest(), 0))
        while not self._is_over.is_set():
            began = time.perf_counter()
            self._connection.exchange(question)
            self.longest_ms = max(self.longest_ms, (time.perf_counter() - began) * 1000)
            time.sleep(PROBE_PAUSE_S)


def frame_of(case: Case) -> bytes:
    """The case's request as it goes over the wire."""
    header = RequestHeader(case.request.API_KEY, case.version, 1, CLIENT_ID)
    return framed(header, case.request.encode(case.version))


def measure(broker: BrokerProcess, case: Case) -> tuple[Outcome, Message]:
    """Send the case's request and wait for its answer while another connection asks; also the answer."""
    frame = frame_of(case)
    connection = Connection(broker)
    with Prober(broker) as prober:
        began = time.perf_counter()
        answer = connection.exchange(frame)
        took_ms = (time.perf_counter() - began) * 1000
        # Work that the request started may hold the broker after the answer.
        time.sleep(WARM_UP_S)
    connection.close()
    api = APIS[case.request.API_KEY]
    _, position = decode_response_header(answer, api.key, case.version)
    decoded = api.response_class.decode(answer, case.version, position, array_elements_max=ELEMENTS_MAX)
    outcome = Outcome(case.name, round(took_ms, 1), round(prober.longest_ms, 1), len(answer))
    return outcome, decoded


# --- the cases


def numbered(size: int, prefix: str = "narrow") -> list[str]:
    """Names of topics or groups."""
    return [f"{prefix}-{number}" for number in range(size)]


def creating(size: int) -> Iterator[Case]:
    """Topics and partitions that are made and deleted."""
    yield Case("FindCoordinator, the first", FindCoordinatorRequest(coordinator_keys=[GROUP]), 4)
    half = size // 2
    topic = CreatableTopic(TOPIC, half, 1)
    yield Case(f"CreateTopics, 1 of {half} partitions", CreateTopicsRequest([topic], TIMEOUT_MS), 5)
    grown = CreatePartitionsTopic(TOPIC, size, None)
    yield Case(f"CreatePartitions, {half} more", CreatePartitionsRequest([grown], TIMEOUT_MS), 2)
    yield Case(
        f"DeleteTopics, 1 of {size} partitions",
        DeleteTopicsRequest(topic_names=[TOPIC], timeout_ms=TIMEOUT_MS),
        5,
    )
    topics = [CreatableTopic(name, 1, 1) for name in numbered(half, "made")]
    yield Case(f"CreateTopics, {half}", CreateTopicsRequest(topics, TIMEOUT_MS), 5)
    missing = [MetadataRequestTopic(name=name) for name in numbered(half)]
    making = MetadataRequest(missing)
    late = ErrorCode.LEADER_NOT_AVAILABLE
    yield Case(f"Metadata that makes {half} topics", making, 9, allowed=late)
    yield Case(f"Metadata of {size} topics", MetadataRequest(None), 9)
    made = numbered(half, "made")
    resources = [DescribeConfigsResource(2, name, None) for name in made]
    yield Case(f"DescribeConfigs of {half} topics", DescribeConfigsRequest(resources), 4)
    yield Case(f"DeleteTopics, {half}", DeleteTopicsRequest(topic_names=made, timeout_ms=TIMEOUT_MS), 5)


def using(size: int) -> Iterator[Case]:
    """Requests that name every partition of one topic."""
    numbers = range(size)
    yield Case("FindCoordinator, the first", FindCoordinatorRequest(coordinator_keys=[GROUP]), 4)
    yield Case(
        f"CreateTopics, 1 of {size} partitions",
        CreateTopicsRequest([CreatableTopic(TOPIC, size, 1)], TIMEOUT_MS),
        5,
    )
    builder = BatchBuilder()
    builder.append(int(time.time() * 1000), None, b"value")
    batch = bytes(builder.build())
    data = [TopicProduceData(TOPIC, partition_data=[PartitionProduceData(n, batch) for n in numbers])]
    for acks in (1, -1):
        yield Case(f"Produce, acks={acks}", ProduceRequest(None, acks, TIMEOUT_MS, data), 9)
    wanted = [FetchPartition(n, partition_max_bytes=1 << 20) for n in numbers]
    fetch = FetchRequest(
        replica_id=CONSUMER, min_bytes=1, max_bytes=50 << 20, topics=[FetchTopic(TOPIC, partitions=wanted)]
    )
    yield Case("Fetch", fetch, 11)
    listed = ListOffsetsTopic(TOPIC, [ListOffsetsPartition(n, timestamp=EARLIEST) for n in numbers])
    yield Case("ListOffsets", ListOffsetsRequest(CONSUMER, topics=[listed]), 7)
    ends = OffsetForLeaderTopic(TOPIC, [OffsetForLeaderPartition(n, leader_epoch=0) for n in numbers])
    yield Case("OffsetForLeaderEpoch", OffsetForLeaderEpochRequest(topics=[ends]), 4)
    committed = OffsetCommitRequestTopic(
        TOPIC, partitions=[OffsetCommitRequestPartition(n, 1) for n in numbers]
    )
    yield Case("OffsetCommit", OffsetCommitRequest(GROUP, topics=[committed]), 8)
    asked = OffsetFetchRequestGroup(
        GROUP, topics=[OffsetFetchRequestTopics(TOPIC, partition_indexes=list(numbers))]
    )
    yield Case("OffsetFetch", OffsetFetchRequest(groups=[asked]), 8)
    yield Case("Metadata", MetadataRequest(None), 9)
    yield Case("DescribeTopicPartitions", DescribeTopicPartitionsRequest([DescribedTopic(TOPIC)]), 0)
    yield Case("DescribeLogDirs", DescribeLogDirsRequest(None), 4)
    yield Case("DescribeProducers", DescribeProducersRequest([TopicRequest(TOPIC, list(numbers))]), 0)
    elected = [TopicPartitions(TOPIC, list(numbers))]
    not_needed = ErrorCode.ELECTION_NOT_NEEDED
    yield Case("ElectLeaders", ElectLeadersRequest(0, elected), 2, not_needed)
    yield Case("ElectLeaders, all", ElectLeadersRequest(0, None), 2)
    deleted = DeleteRecordsTopic(TOPIC, [DeleteRecordsPartition(n, -1) for n in numbers])
    yield Case("DeleteRecords", DeleteRecordsRequest([deleted], TIMEOUT_MS), 2)
    yield Case(f"DescribeGroups, {size} names", DescribeGroupsRequest(numbered(size)), 5)
    yield Case(f"DescribeGroups, 1 name {size} times", DescribeGroupsRequest([GROUP] * size), 5)


FAMILIES: Final[dict[str, Callable[[int], Iterator[Case]]]] = {"creating": creating, "using": using}


def run(size: int, families: list[str]) -> Iterator[Outcome]:
    """Measure every case of the families, each family on a broker of its own."""
    for family in families:
        with tempfile.TemporaryDirectory(prefix="odradek-stalls-") as scratch:
            broker = BrokerProcess(Path(scratch) / "data")
            broker.start()
            try:
                for case in FAMILIES[family](size):
                    outcome, answer = measure(broker, case)
                    fault = fault_in(answer, case.allowed)
                    if fault:
                        raise SystemExit(f"{case.name} was answered with error {fault}")
                    yield outcome
            finally:
                broker.stop()


def fault_in(answer: object, allowed: int = 0) -> int:
    """The first error code anywhere in an answer that is not `allowed`; 0 if there is none."""
    if isinstance(answer, list):
        return next((fault for fault in (fault_in(item, allowed) for item in answer) if fault), 0)
    if not is_dataclass(answer):
        return 0
    for field in fields(answer):
        value = getattr(answer, field.name)
        fault = value if field.name == "error_code" else fault_in(value, allowed)
        if fault and fault != allowed:
            return int(fault)
    return 0


def main() -> None:
    """Measure, print a table and a line of JSON; exit code 1 if a client waited too long."""
    parser = argparse.ArgumentParser(prog="./dev stalls", description=__doc__)
    parser.add_argument("--size", type=int, default=SIZE, help="how much a request names")
    parser.add_argument("--family", choices=sorted(FAMILIES), action="append", help="only these cases")
    parser.add_argument("--limit-ms", type=float, default=STALL_MAX_MS, help="the longest wait allowed")
    arguments = parser.parse_args()
    print(f"{'case':<40} {'request ms':>12} {'longest wait ms':>16}")
    late = []
    for outcome in run(arguments.size, arguments.family or sorted(FAMILIES)):
        print(
            f"{outcome.case:<40} {outcome.request_ms:>12,.1f} {outcome.longest_wait_ms:>16,.1f}", flush=True
        )
        if outcome.longest_wait_ms > arguments.limit_ms:
            late.append(outcome)
    print(json.dumps({"size": arguments.size, "too_late": [asdict(outcome) for outcome in late]}))
    sys.exit(1 if late else 0)


if __name__ == "__main__":
    main()
