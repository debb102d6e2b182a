"""Faults on a whole broker without a loop: what clients are answered."""

from collections.abc import Callable
from dataclasses import dataclass, field, is_dataclass
from functools import partial
from types import GeneratorType
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import FaultRefused
from odradek.base.execution import exhaust
from odradek.base.ids import TopicPartition
from odradek.records.builder import BatchBuilder
from odradek.server.faults.documents import FaultRequests, Reach
from odradek.server.faults.fetch_watches import WATCHES_MAX
from odradek.server.faults.rules import Side, Way
from odradek.storage.faulty_files import DiskFaults
from odradek.testing.sim import SimNode
from odradek.wire.apis import APIS
from odradek.wire.headers import RequestHeader, decode_response_header, encode_request_header
from odradek.wire.message import Message
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
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
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.messages.sync_group import SyncGroupRequest
from tests.server.recording_client import RecordingClient

NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER
Batch = Callable[..., bytes]


@dataclass
class Sent:
    """A request on a connection that takes every answer at once."""

    request: Message
    version: int
    client: RecordingClient = field(default_factory=RecordingClient)

    @property
    def answers(self) -> list[Any]:
        return [self._decoded(frame) for frame in self.client.answers if frame is not None]

    @property
    def answer(self) -> Any:
        (answer,) = self.answers
        return answer

    def _decoded(self, frame: bytes) -> Any:
        _, position = decode_response_header(frame, self.request.API_KEY, self.version)
        return APIS[self.request.API_KEY].response_class.decode(frame, self.version, position)


class Faulty:
    """A broker with the topics a and b, on which faults are set."""

    def __init__(self, node: SimNode) -> None:
        self.node = node
        self.disk = DiskFaults()
        self.refusing: list[bool] = []
        self.faults = FaultRequests(Reach(node.node, self.disk, self.refusing.append, lambda: 3))
        for topic in ("a", "b"):
            node.ask(CreateTopicsRequest([CreatableTopic(topic, 2, 1)], 5000))

    def set(self, **document: object) -> Any:
        return self.faults.carry_out(document)

    def hits(self) -> list[int]:
        return [one["hits"] for one in self.set(fault="list")]

    def send(self, request: Message, version: int, client_id: str = "c") -> Sent:
        sent = Sent(request, version)
        header = encode_request_header(RequestHeader(request.API_KEY, version, 7, client_id))
        self.node.node.dispatcher.dispatch(sent.client, header + request.encode(version))
        self.node.settle()
        return sent

    def end(self, topic: str, partition: int = 0) -> int:
        log = self.node.logs.get(TopicPartition(topic, partition))
        assert log is not None
        return log.end_offset


@pytest.fixture
def faulty(node: SimNode) -> Faulty:
    return Faulty(node)


def produce(batch: bytes, *topics: str) -> ProduceRequest:
    data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, batch)]) for topic in topics]
    return ProduceRequest(None, -1, 5000, data)


def codes(answer: Any) -> dict[str, int]:
    return {topic.name: part.error_code for topic in answer.responses for part in topic.partition_responses}


def test_an_error_is_answered_so_many_times_and_nothing_is_written(faulty: Faulty, batch: Batch) -> None:
    faulty.set(fault="error", api="Produce", error="NOT_LEADER_OR_FOLLOWER", times=2)
    for _ in range(2):
        assert codes(faulty.send(produce(batch(b"x"), "a"), 9).answer) == {"a": NOT_LEADER}
    assert faulty.end("a") == 0
    assert codes(faulty.send(produce(batch(b"x"), "a"), 9).answer) == {"a": 0}
    assert faulty.end("a") == 1
    assert faulty.hits() == [2]


def test_an_error_for_one_topic_leaves_the_others_of_a_request_alone(faulty: Faulty, batch: Batch) -> None:
    faulty.set(fault="error", api="Produce", error="NOT_LEADER_OR_FOLLOWER", topic="a")
    assert codes(faulty.send(produce(batch(b"x"), "a", "b"), 9).answer) == {"a": NOT_LEADER, "b": 0}
    assert codes(faulty.send(produce(batch(b"x"), "b"), 9).answer) == {"b": 0}
    assert (faulty.end("a"), faulty.end("b")) == (0, 2)
    assert faulty.hits() == [1]


def test_topics_that_are_named_by_their_ids_are_known(faulty: Faulty, batch: Batch) -> None:
    faulty.set(fault="error", api="Produce", error="NOT_LEADER_OR_FOLLOWER", topic="a")
    request = produce(batch(b"x"), "a", "b")
    for topic in request.topic_data:
        known = faulty.node.core.image.topic(topic.name)
        assert known is not None
        topic.topic_id, topic.name = known.topic_id, ""
    answer = faulty.send(request, 13).answer
    assert sorted(part.error_code for one in answer.responses for part in one.partition_responses) == [
        0,
        NOT_LEADER,
    ]
    assert (faulty.end("a"), faulty.end("b")) == (0, 1)


def fetch(*topics: str, session: tuple[int, int] = (0, -1)) -> FetchRequest:
    session_id, epoch = session
    partitions = [FetchPartition(partition=0, partition_max_bytes=1000)]
    return FetchRequest(
        max_wait_ms=1000,
        min_bytes=1,
        max_bytes=1000,
        session_id=session_id,
        session_epoch=epoch,
        topics=[FetchTopic(topic=topic, partitions=partitions) for topic in topics],
    )


def test_a_fetch_error_stands_at_its_partition_and_is_answered_at_once(faulty: Faulty) -> None:
    faulty.set(fault="error", api="Fetch", error="NOT_LEADER_OR_FOLLOWER", topic="a")
    answer = faulty.send(fetch("a", "b"), 12).answer
    assert answer.error_code == 0
    found = {one.topic: one.partitions[0].error_code for one in answer.responses}
    assert found == {"a": NOT_LEADER, "b": 0}


def test_a_fetch_session_is_ended_first_so_that_its_client_names_what_it_reads(faulty: Faulty) -> None:
    session_id = faulty.send(fetch("a", session=(0, 0)), 12)
    faulty.node.advance(1000)
    faulty.set(fault="error", api="Fetch", error="NOT_LEADER_OR_FOLLOWER", topic="a", times=1)
    going_on = faulty.send(fetch(session=(session_id.answer.session_id, 1)), 12).answer
    assert going_on.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert faulty.hits() == [0]
    answer = faulty.send(fetch("a", session=(0, 0)), 12).answer
    assert answer.responses[0].partitions[0].error_code == NOT_LEADER
    assert faulty.hits() == [1]


def watched(faulty: Faulty, number: int) -> list[tuple[str, str, int]]:
    rows = faulty.set(fault="watched_fetches", id=number)
    return [(row["client"], row["topic"], row["partition"]) for row in rows]


def test_what_clients_fetch_is_watched_as_long_as_a_test_wants(faulty: Faulty) -> None:
    faulty.send(fetch("b"), 12)
    number = faulty.set(fault="watch_fetches")["id"]
    assert watched(faulty, number) == []
    faulty.send(fetch("a"), 12)
    faulty.send(fetch("a"), 12, client_id="other")
    assert watched(faulty, number) == [("c", "a", 0), ("other", "a", 0)]
    (row, _) = faulty.set(fault="watched_fetches", id=number)
    assert row["host"] == "10.0.0.1"
    another = faulty.set(fault="watch_fetches")["id"]
    assert watched(faulty, another) == []
    assert [faulty.set(fault="end_watch", id=number)["removed"] for _ in range(2)] == [True, False]
    with pytest.raises(FaultRefused, match=f"there is no watch {number}"):
        watched(faulty, number)
    assert faulty.node.node.requests.interposed is not None
    faulty.set(fault="end_watch", id=another)
    assert faulty.node.node.requests.interposed is None


def test_a_watch_has_the_partitions_of_a_session_that_a_fetch_does_not_name(faulty: Faulty) -> None:
    """KIP-227: a session's later fetches name only what changes in it."""
    opened = faulty.send(fetch("a", "b", session=(0, 0)), 12)
    faulty.node.advance(1000)
    session_id = opened.answer.session_id
    number = faulty.set(fault="watch_fetches")["id"]
    forgetting = fetch(session=(session_id, 1))
    forgetting.forgotten_topics_data = [ForgottenTopic(topic="b", partitions=[0])]
    faulty.send(forgetting, 12)
    assert watched(faulty, number) == [("c", "a", 0)]


def test_fetches_that_wait_are_answered_when_a_watch_begins(faulty: Faulty) -> None:
    """So their clients say at once what they fetch now, and a test does not wait for `fetch.max.wait.ms`."""
    alone = faulty.send(fetch("a"), 12)
    opened = faulty.send(fetch("b", session=(0, 0)), 12)
    faulty.node.advance(1000)
    in_session = faulty.send(fetch(session=(opened.answer.session_id, 1)), 12)
    alone = faulty.send(fetch("a"), 12)
    assert (alone.answers, in_session.answers) == ([], [])
    faulty.set(fault="watch_fetches")
    faulty.node.settle()
    assert alone.answer.responses[0].partitions[0].error_code == 0
    assert (in_session.answer.error_code, in_session.answer.responses) == (0, [])


def test_watches_are_bounded(faulty: Faulty) -> None:
    for _ in range(WATCHES_MAX):
        faulty.set(fault="watch_fetches")
    with pytest.raises(FaultRefused, match=f"there are {WATCHES_MAX} watches already"):
        faulty.set(fault="watch_fetches")


def test_an_error_of_the_session_stands_at_the_answer_as_a_whole(faulty: Faulty) -> None:
    faulty.set(fault="error", api="Fetch", error="INVALID_FETCH_SESSION_EPOCH")
    assert faulty.send(fetch("a"), 12).answer.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_metadata_with_an_error_names_the_brokers_all_the_same(faulty: Faulty) -> None:
    faulty.set(fault="error", api="Metadata", error="LEADER_NOT_AVAILABLE")
    answer = faulty.send(MetadataRequest([MetadataRequestTopic(name="a")]), 9).answer
    assert [(one.name, one.error_code) for one in answer.topics] == [("a", ErrorCode.LEADER_NOT_AVAILABLE)]
    assert len(answer.brokers) == 1


@pytest.mark.parametrize("version", [3, 4])
def test_a_coordinators_error_stands_at_its_key(faulty: Faulty, version: int) -> None:
    faulty.set(fault="error", api="FindCoordinator", error="COORDINATOR_NOT_AVAILABLE")
    asked = FindCoordinatorRequest(key="g", coordinator_keys=["g"])
    answer = faulty.send(asked, version).answer
    found = answer if version < 4 else answer.coordinators[0]
    assert (found.error_code, found.node_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)


def requests() -> dict[str, Message]:
    return {
        "Heartbeat": HeartbeatRequest("g", 1, "m"),
        "JoinGroup": JoinGroupRequest("g", 5000, 5000, "", None, "consumer", [JoinGroupRequestProtocol("r")]),
        "InitProducerId": InitProducerIdRequest(None, 5),
        "ListOffsets": ListOffsetsRequest(-1, 0, [ListOffsetsTopic("a", [ListOffsetsPartition(0)])]),
        "OffsetFetch": OffsetFetchRequest(
            "g",
            [OffsetFetchRequestTopic("a", [0])],
            [OffsetFetchRequestGroup("g", topics=[OffsetFetchRequestTopics("a", partition_indexes=[0])])],
        ),
        "OffsetCommit": OffsetCommitRequest(
            "g", topics=[OffsetCommitRequestTopic("a", partitions=[OffsetCommitRequestPartition(0)])]
        ),
        "CreateTopics": CreateTopicsRequest([CreatableTopic("new", 1, 1)], 5000),
    }


def codes_in(message: object) -> list[int]:
    """Every error code of an answer, however deep."""
    if isinstance(message, list):
        return [code for one in message for code in codes_in(one)]
    names = getattr(type(message), "__dataclass_fields__", {})
    own = [getattr(message, name) for name in names if name.endswith("error_code")]
    return own + [code for name in names for code in codes_in(getattr(message, name))]


@pytest.mark.parametrize("api", requests())
def test_every_api_answers_the_error_in_its_own_place(faulty: Faulty, api: str) -> None:
    faulty.set(fault="error", api=api, error="COORDINATOR_NOT_AVAILABLE")
    request = requests()[api]
    handler = faulty.node.handlers.get(request.API_KEY)
    assert handler is not None
    for version in range(handler.lowest_version, handler.highest_version + 1):
        if (
            api in ("OffsetCommit", "OffsetFetch") and version >= 10
        ):  # by ids, which this request does not have
            continue
        answer = faulty.send(request, version).answer
        assert set(codes_in(answer)) - {0} == {ErrorCode.COORDINATOR_NOT_AVAILABLE}, version


def test_every_version_of_every_api_has_a_place_for_an_error(faulty: Faulty) -> None:
    without = []
    for key in faulty.node.handlers.api_keys:
        handler, api = faulty.node.handlers.get(key), APIS[key]
        assert handler is not None
        assert handler.refuse is not None, api.name
        for version in range(handler.lowest_version, handler.highest_version + 1):
            asked = api.request_class.decode(_filled(api.request_class).encode(version), version, 0)
            refused = handler.refuse(asked, ErrorCode.REQUEST_TIMED_OUT)
            refusal: Any = exhaust(refused) if isinstance(refused, GeneratorType) else refused
            frame = b"".join(bytes(part) for part in refusal.encode_parts(version))
            if ErrorCode.REQUEST_TIMED_OUT not in codes_in(api.response_class.decode(frame, version, 0)):
                without.append((api.name, version))
    assert without == []


def _filled(kind: Any) -> Any:
    """A message, or a part of one, with an element in each of its lists."""
    message = kind()
    for name, hint in get_type_hints(kind).items():
        for one in (hint, *get_args(hint)):  # the list itself, or one that may be null
            if get_origin(one) is list:
                (element,) = get_args(one)
                setattr(message, name, [_filled(element) if is_dataclass(element) else element()])
    return message


def test_a_delay_is_by_the_brokers_clock(faulty: Faulty, batch: Batch) -> None:
    faulty.set(fault="delay", api="Produce", ms=500)
    sent = faulty.send(produce(batch(b"x"), "a"), 9)
    assert faulty.end("a") == 1
    faulty.node.advance(499)
    assert sent.answers == []
    faulty.node.advance(1)
    assert codes(sent.answer) == {"a": 0}


@pytest.mark.parametrize(
    ("when", "written", "answers"),
    [("before_request", 0, 0), ("before_answer", 1, 0), ("after_answer", 1, 1)],
)
@pytest.mark.parametrize("acks", [-1, 0])
def test_a_connection_is_dropped(
    faulty: Faulty, batch: Batch, when: str, written: int, answers: int, acks: int
) -> None:
    faulty.set(fault="drop", api="Produce", when=when, client="c", times=1)
    request = produce(batch(b"x"), "a")
    request.acks = acks
    sent = faulty.send(request, 9)
    assert sent.client.is_closed
    assert (faulty.end("a"), len(sent.client.answers)) == (written, answers)
    assert not faulty.send(produce(batch(b"x"), "a"), 9).client.is_closed


def test_without_rules_nothing_stands_before_the_handlers(faulty: Faulty) -> None:
    dispatcher = faulty.node.node.requests
    first = faulty.set(fault="drop", api="Produce")
    faulty.set(fault="refuse_connections")
    assert dispatcher.interposed is not None
    assert faulty.set(fault="remove", id=first["id"]) == {"removed": True}
    assert dispatcher.interposed is None
    assert faulty.refusing[-1] is True
    faulty.set(fault="clear")
    assert faulty.refusing[-1] is False
    assert faulty.set(fault="list") == []


def test_the_disk(faulty: Faulty) -> None:
    faulty.set(fault="full_disk")
    faulty.set(fault="slow_disk", ms=50)
    faulty.set(fault="slow_disk", ms=20)
    assert faulty.disk == DiskFaults(is_full=True, delay_ms=70)
    faulty.set(fault="clear")
    assert faulty.disk == DiskFaults()


def test_the_disk_of_one_log_directory(faulty: Faulty) -> None:
    (directory,) = faulty.node.core.settings.log_dirs
    first = faulty.set(fault="full_disk", directory=directory)
    assert faulty.disk == DiskFaults(full_directories=frozenset({directory}))
    assert faulty.disk.is_full_at(f"{directory}/a-0/0.log")
    assert not faulty.disk.is_full_at(f"{directory}-more/a-0/0.log")
    faulty.set(fault="full_disk")
    assert faulty.disk.is_full
    faulty.set(fault="remove", id=first["id"])
    assert faulty.disk == DiskFaults(is_full=True)
    with pytest.raises(FaultRefused, match="/other is no log directory of this broker"):
        faulty.set(fault="full_disk", directory="/other")


def test_a_member_expires(faulty: Faulty) -> None:
    faulty.send(FindCoordinatorRequest(key="g"), 1)  # makes the topic of groups
    faulty.node.advance(5_000)
    protocols = [JoinGroupRequestProtocol("range", b"")]
    request = JoinGroupRequest("g", 45_000, 45_000, "", None, "consumer", protocols)
    joined = faulty.send(request, 2, "reader")
    faulty.node.advance(5_000)
    member = joined.answer.member_id
    faulty.send(SyncGroupRequest("g", 1, member), 2, "reader")
    assert faulty.set(fault="expire_member", group="g", member="reader") == {"expired": [member]}
    faulty.node.settle()
    answer = faulty.send(HeartbeatRequest("g", 1, member), 2).answer
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    with pytest.raises(FaultRefused, match="group g has no member reader"):
        faulty.set(fault="expire_member", group="g", member="reader")


def test_a_producer_id_is_lost(faulty: Faulty) -> None:
    builder = BatchBuilder(producer_id=7, producer_epoch=0, base_sequence=0)
    builder.append(1_700_000_000_000, None, b"x")
    request = produce(bytes(builder.build()), "a")
    for _ in range(2):
        assert codes(faulty.send(request, 9).answer) == {"a": 0}
    assert faulty.end("a") == 1, "the second is a duplicate"
    assert faulty.set(fault="lose_producer_id", producer_id=7) == {"partitions": ["a-0"]}
    assert codes(faulty.send(request, 9).answer) == {"a": 0}
    assert faulty.end("a") == 2


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ([], "is a JSON object"),
        ({}, "there is no fault None"),
        ({"fault": "explode"}, "there is no fault 'explode'; there are error, delay, drop, "),
        (
            {"fault": "drop_connection"},
            r"there is no fault 'drop_connection'; did you mean drop_connections\?",
        ),
        ({"fault": "error", "api": "Produce"}, "error is a text"),
        (
            {"fault": "error", "api": "Produce", "error": "OOPS"},
            "there is no error 'OOPS'; names are those of the protocol, such as ",
        ),
        (
            {"fault": "error", "api": "Produce", "error": "NOT_LEADER_FOR_FOLLOWER"},
            r"there is no error 'NOT_LEADER_FOR_FOLLOWER'; did you mean NOT_LEADER_OR_FOLLOWER\?",
        ),
        ({"fault": "error", "api": "Produce", "error": "NONE"}, "NONE is not an error"),
        ({"fault": "error", "error": "NOT_COORDINATOR"}, "an error needs an api"),
        (
            {"fault": "error", "api": "produce", "error": "NOT_COORDINATOR"},
            r"there is no api 'produce'; did you mean Produce\?",
        ),
        (
            {"fault": "delay", "api": "Qqqq", "ms": 1},
            "there is no api 'Qqqq'; names are those of the protocol, such as Produce",
        ),
        ({"fault": "error", "api": "Vote", "error": "NOT_COORDINATOR"}, "Vote"),
        ({"fault": "delay"}, "ms is a number"),
        ({"fault": "delay", "ms": -1}, "ms is a number"),
        ({"fault": "delay", "ms": True}, "ms is a number"),
        ({"fault": "delay", "ms": 1, "when": "before_answer"}, "takes no when"),
        ({"fault": "drop", "when": "never"}, "when is one of"),
        ({"fault": "drop", "times": 0}, "times is a number"),
        ({"fault": "drop", "topic": "a"}, "with a topic needs an api"),
        ({"fault": "drop", "api": "Heartbeat", "topic": "a"}, "with a topic needs an api"),
        ({"fault": "expire_member", "group": "g", "member": "m"}, "there is no group g"),
        ({"fault": "remove"}, "id is a number"),
    ],
)
def test_what_cannot_be_carried_out_is_refused_in_a_sentence(
    faulty: Faulty, document: object, fault: str
) -> None:
    with pytest.raises(FaultRefused, match=fault):
        faulty.faults.carry_out(document)
    assert faulty.set(fault="list") == []


def test_isolation_is_told_to_the_connections(node: SimNode) -> None:
    """Design 5: several rules add up, and each ends by itself."""
    held: dict[Side, frozenset[Way]] = {}
    cuts = {side: partial(held.__setitem__, side) for side in Side}
    faults = FaultRequests(Reach(node.node, None, lambda refuse: None, lambda: 0, cuts=cuts))

    def hold(**document: object) -> Any:
        return faults.carry_out({"fault": "isolate", **document})

    everything: frozenset[Way] = frozenset(Way)
    first = hold()
    assert held == {Side.BROKERS: everything, Side.STORE: everything}
    hold(**{"from": "store", "way": "in"})
    faults.carry_out({"fault": "remove", **first})
    assert held == {Side.BROKERS: frozenset(), Side.STORE: {Way.IN}}
    hold(**{"from": "store", "way": "out"})
    hold(**{"from": "brokers", "way": "both"})
    assert held == {Side.BROKERS: everything, Side.STORE: everything}
    assert faults.carry_out({"fault": "list"}) == [
        {"id": 2, "fault": "isolate", "from": "store", "way": "in"},
        {"id": 3, "fault": "isolate", "from": "store", "way": "out"},
        {"id": 4, "fault": "isolate", "from": "brokers"},
    ]
    faults.carry_out({"fault": "clear"})
    assert set(held.values()) == {frozenset()}
    with pytest.raises(FaultRefused, match="from is one of brokers, store, not 'clients'"):
        hold(**{"from": "clients"})
    with pytest.raises(FaultRefused, match="the fault isolate takes no topic"):
        hold(topic="a")


def test_who_is_alone_cannot_be_isolated(faulty: Faulty) -> None:
    with pytest.raises(FaultRefused, match="there is nobody to isolate it from"):
        faulty.set(fault="isolate")
    with pytest.raises(FaultRefused, match="the only broker of its cluster"):
        faulty.set(**{"fault": "isolate", "from": "brokers"})
    with pytest.raises(FaultRefused, match="does not reach it over a connection that can be cut"):
        faulty.set(**{"fault": "isolate", "from": "store"})
