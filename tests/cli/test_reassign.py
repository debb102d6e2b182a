"""`odradek cluster reassign` and `cluster drain` against a world of five brokers."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from odradek.base.ids import BrokerId, TopicPartition
from odradek.cli import reassign
from odradek.cli.main import run
from odradek.client.cluster_state import ClusterBroker, ClusterState
from odradek.client.core.admin.cluster_states import cluster_state
from odradek.client.core.operation import Operation
from odradek.net.request_pipeline import ConnectionFailed
from odradek.records.builder import BatchBuilder
from odradek.wire.messages.delete_topics import DeleteTopicsRequest
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.cli.cluster_world import SESSION_MS, ClusterWorld, connect_commands, document, said, table

CONTROLLER: BrokerId = 1
ORDERS = [(1, 2, 3), (2, 3, 1), (3, 1, 2), (1, 2, 3)]
LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")


class Five(ClusterWorld):
    """Five brokers with the topic `orders` on the first three, and `notes` on broker 3 alone."""

    def __init__(self) -> None:
        super().__init__(5)
        self.create("orders", ORDERS, **{"min.insync.replicas": "2"})
        self.create("notes", [(3,)])

    def replicas(self, topic: str = "orders") -> list[tuple[BrokerId, ...]]:
        held = self.alive.core.image.topic(topic)
        assert held is not None
        return [held.partitions[number].replicas for number in sorted(held.partitions)]

    def fill(self, batches: int = 20, partition: int = 0) -> None:
        """Write batches of about 1 kB to a partition of `orders`."""
        for _ in range(batches):
            state = self.alive.core.image.partition(TopicPartition("orders", partition))
            assert state is not None
            builder = BatchBuilder()
            builder.append(0, None, b"v" * 1_000)
            data = TopicProduceData(
                "orders", partition_data=[PartitionProduceData(partition, bytes(builder.build()))]
            )
            sent = self.world.nodes[state.leader].send(ProduceRequest(None, -1, 30_000, [data]), 9)
            self.world.advance(100)
            assert sent.answer.responses[0].partition_responses[0].error_code == 0

    def cut_off(self, broker_id: BrokerId, *, but_from_the_controller: bool = False) -> None:
        """No other broker reaches this one any more; it keeps its session, and clients reach it.

        It can hand changes of its settings on as long as it reaches the controller, broker 1, which does not
        lead partition 1 of `orders`.
        """
        for other in self.world.nodes:
            if other != broker_id and not (but_from_the_controller and other == CONTROLLER):
                self.world.cut(other, broker_id)

    def delete(self, topic: str) -> None:
        request = DeleteTopicsRequest(topic_names=[topic], timeout_ms=1_000)
        self.alive.send(request, 5)
        self.world.advance(1_000)


@pytest.fixture
def five(monkeypatch: pytest.MonkeyPatch) -> Five:
    made = Five()
    connect_commands(monkeypatch, made)
    return made


def settings(capsys: pytest.CaptureFixture[str], kind: str, name: str) -> dict[str, str]:
    """The throttle's settings that are not at their defaults."""
    capsys.readouterr()
    assert run(["configs", "describe", kind, name, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    return {row["setting"]: row["value"] for row in rows if row["setting"] in (*LISTS, *RATES)}


def file_of(path: Path, partitions: Mapping[int, Sequence[BrokerId]], **more: Any) -> str:
    rows = [
        {"topic": "orders", "partition": number, "replicas": list(one), **more}
        for number, one in partitions.items()
    ]
    path.write_text(json.dumps({"version": 1, "partitions": rows}))
    return str(path)


# --- plans


def test_a_plan_is_shown_and_nothing_is_moved(five: Five, capsys: pytest.CaptureFixture[str]) -> None:
    five.fill(partition=1)
    capsys.readouterr()
    assert run(["cluster", "reassign", "orders", "--to", "2,3,4,5"]) == 0
    out, err = capsys.readouterr()
    lines = table(out)
    assert lines[0] == ["topic", "partition", "replicas", "will", "be", "copied", "to", "to", "copy"]
    assert lines[1] == ["orders", "0", "1,", "2,", "3", "4,", "2,", "3", "4", "0", "B"]
    assert lines[2][-2:] == ["42.8", "KB"]
    assert lines[-1] == ["4", "partitions,", "6", "new", "replicas,", "42.8", "KB", "to", "copy."]
    assert err == "Nothing was moved: add --execute to do it.\n"
    assert five.replicas() == ORDERS


def test_the_plan_as_json_is_a_file_for_the_command(
    five: Five, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = said(capsys, "reassign", "orders:1", "--to", "4,5,1", "--json")
    plan = tmp_path / "plan.json"
    plan.write_text(text)
    (row,) = json.loads(text)["partitions"]
    assert (row["topic"], row["partition"], row["before"]) == ("orders", 1, [2, 3, 1])
    assert sorted(row["replicas"]) == [1, 4, 5]
    done = document(capsys, "reassign", "--file", str(plan), "--execute")
    assert [one["result"] for one in done["partitions"]] == ["moved"]
    assert five.replicas()[1] == tuple(row["replicas"])
    assert "Nothing to move" in said(capsys, "reassign", "--file", str(plan))


def test_replicas_come_and_go_with_the_factor(five: Five, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "reassign", "orders", "--replication-factor", "5", "--execute")
    assert {len(one) for one in five.replicas()} == {5}
    said(capsys, "reassign", "orders", "--replication-factor", "2", "--to", "4,5", "--execute")
    assert {tuple(sorted(one)) for one in five.replicas()} == {(4, 5)}


# --- carrying out


def test_moves_are_followed_to_their_end(
    five: Five, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    five.fill()
    saved = str(tmp_path / "before.json")
    capsys.readouterr()
    assert run(["cluster", "reassign", "orders", "--to", "3,4,5", "--execute", "--save", saved]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == "Moved 4 partitions."
    assert "of 4 partitions moved" in err
    assert " copied" in err
    assert {tuple(sorted(one)) for one in five.replicas()} == {(3, 4, 5)}
    said(capsys, "reassign", "--file", saved, "--execute")
    assert five.replicas() == ORDERS


def test_a_move_without_waiting_is_verified_and_given_up(
    five: Five, capsys: pytest.CaptureFixture[str]
) -> None:
    five.cut_off(4)
    said(capsys, "reassign", "orders:0", "--to", "2,3,4", "--execute", "--no-wait")
    (row,) = document_failing(capsys, "reassign", "--verify")
    assert (row["state"], row["target"], row["adding"]) == ("under way", [4, 2, 3], [4])
    assert said(capsys, "reassign", "--verify", code=1).endswith("1 of 1 partition have not moved\n")
    rows = document(capsys, "reassign", "orders", "--cancel")
    assert [(row["partition"], sorted(row["replicas"]), row["result"]) for row in rows] == [
        (0, [1, 2, 3], "given up")
    ]
    five.world.advance(1_000)
    assert sorted(five.replicas()[0]) == [1, 2, 3]
    assert said(capsys, "reassign", "--verify") == "No partition is being moved.\n"
    assert said(capsys, "reassign", "--cancel") == "No partition is being moved.\n"


def test_a_file_says_what_is_verified(five: Five, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    wanted = file_of(tmp_path / "plan.json", {0: (1, 2, 3), 1: (4, 5, 1)})
    rows = document_failing(capsys, "reassign", "--file", wanted, "--verify")
    assert [row["state"] for row in rows] == ["moved", "has other replicas"]
    five.cut_off(5)
    said(capsys, "reassign", "orders:1", "--to", "2,3,5", "--execute", "--no-wait")
    rows = document_failing(capsys, "reassign", "--file", wanted, "--verify")
    assert [row["state"] for row in rows] == ["moved", "moves elsewhere"]


def test_another_move_of_the_same_partition_is_named_and_replaced(
    five: Five, capsys: pytest.CaptureFixture[str]
) -> None:
    five.cut_off(4)
    said(capsys, "reassign", "orders:0", "--to", "2,3,4", "--execute", "--no-wait")
    text = said(capsys, "reassign", "orders:0", "--to", "2,3,5")
    assert table(text)[1] == ["orders", "0", "2,", "3,", "1", "5,", "2,", "3", "5", "0", "B", "4,", "2,", "3"]
    said(capsys, "reassign", "orders:0", "--to", "2,3,5", "--execute")
    assert five.replicas()[0] == (5, 2, 3)


def test_a_move_that_is_under_way_already_is_followed(five: Five, capsys: pytest.CaptureFixture[str]) -> None:
    five.cut_off(4)
    move = ("reassign", "orders:0", "--to", "2,3,4", "--execute")
    said(capsys, *move, "--no-wait")
    five.meanwhile.append(five.world.heal)
    assert said(capsys, *move).splitlines()[-1] == "Moved 1 partition."
    assert five.replicas()[0] == (4, 2, 3)


def test_what_holds_moves_up_is_said(five: Five, capsys: pytest.CaptureFixture[str]) -> None:
    """A broker that is gone has its copies made when it is back."""
    five.cut_off(4)
    nothing = [lambda: None] * 8
    five.meanwhile = [
        lambda: five.kill(4),
        *nothing,
        five.world.heal,
        lambda: five.world.node(4),
    ]
    capsys.readouterr()
    assert run(["cluster", "reassign", "orders:0", "--to", "2,3,4", "--execute"]) == 0
    assert "; waiting for broker 4, which is not in the cluster\n" in capsys.readouterr().err
    assert five.replicas()[0] == (4, 2, 3)


@pytest.mark.parametrize(
    ("meanwhile", "sentence"),
    [
        (
            lambda five: run(["cluster", "reassign", "--cancel"]),
            "orders-0 did not move: it has the replicas 2, 3, 1",
        ),
        (lambda five: five.delete("orders"), "orders-0 did not move: it was deleted"),
    ],
    ids=["given up", "deleted"],
)
def test_a_move_that_ends_otherwise_fails(
    five: Five, capsys: pytest.CaptureFixture[str], meanwhile: Callable[[Five], object], sentence: str
) -> None:
    five.cut_off(4)
    five.meanwhile.append(lambda: meanwhile(five))
    assert sentence in said(capsys, "reassign", "orders:0", "--to", "2,3,4", "--execute", code=1)


@pytest.mark.parametrize(
    ("end", "code"), [(KeyboardInterrupt(), 130), (ConnectionFailed("the broker is gone"), 1)]
)
def test_whoever_stops_waiting_is_told_that_moves_go_on(
    five: Five, capsys: pytest.CaptureFixture[str], end: BaseException, code: int
) -> None:
    def interrupt() -> None:
        raise end

    five.cut_off(4)
    five.meanwhile.append(interrupt)
    capsys.readouterr()
    assert run(["cluster", "reassign", "orders:0", "--to", "2,3,4", "--execute"]) == code
    assert "The moves go on" in capsys.readouterr().err
    five.world.heal()
    five.world.advance(10_000)
    assert five.replicas()[0] == (4, 2, 3)


def test_what_the_controller_refuses_fails_and_the_rest_moves(
    five: Five, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker that was asked knew another cluster than the controller."""
    first = five.alive.core.image.brokers
    five.world.kill(5)
    monkeypatch.setattr(reassign, "cluster_state", lambda: with_broker(5))
    assert first
    five.world.advance(60_000)
    capsys.readouterr()
    assert run(["cluster", "reassign", "orders", "--to", "2,3,5", "--execute"]) == 1
    out, err = capsys.readouterr()
    assert "which is not live; nor did 3 other partitions" in err
    assert "Moved 0 partitions." in out


def with_broker(broker_id: BrokerId) -> Operation[ClusterState]:
    """As `cluster_state`, with a broker that is not there any more."""
    state = yield from cluster_state()
    gone = ClusterBroker(broker_id, "nowhere", 1, state.brokers[0].rack)
    return replace(state, brokers=[*state.brokers, gone])


# --- the throttle


def test_copies_are_throttled_until_all_have_moved(five: Five, capsys: pytest.CaptureFixture[str]) -> None:
    """KIP-73: the replicas that there were send slowly, those that are added fetch slowly."""
    five.fill(partition=1)
    seen: list[tuple[dict[str, str], dict[str, str]]] = []

    def look() -> None:
        seen.append((settings(capsys, "topic", "orders"), settings(capsys, "broker", "2")))

    five.cut_off(4, but_from_the_controller=True)
    five.meanwhile = [look, five.world.heal]
    said(capsys, "reassign", "orders:1", "--to", "3,1,4", "--execute", "--throttle", "100,000")
    assert seen == [(dict(zip(LISTS, ("1:1,1:2,1:3", "1:4"), strict=True)), dict.fromkeys(RATES, "100000"))]
    for broker_id in range(1, 6):
        assert settings(capsys, "broker", str(broker_id)) == {}
    assert settings(capsys, "topic", "orders") == {}


def test_a_throttle_lasts_as_long_as_another_move(five: Five, capsys: pytest.CaptureFixture[str]) -> None:
    five.cut_off(4, but_from_the_controller=True)
    execute = ("--execute", "--no-wait", "--throttle", "5000")
    said(capsys, "reassign", "orders:1", "--to", "3,1,4", *execute)
    said(capsys, "reassign", "notes", "--to", "5", *execute)
    five.world.advance(2_000)
    assert "notes" in said(capsys, "reassign", "notes", "--verify")
    assert settings(capsys, "topic", "notes") == {}
    assert settings(capsys, "topic", "orders")[LISTS[1]] == "1:4"
    assert settings(capsys, "broker", "1") == dict.fromkeys(RATES, "5000")
    said(capsys, "reassign", "--cancel")
    assert settings(capsys, "topic", "orders") == {}
    assert settings(capsys, "broker", "1") == {}


def test_a_throttle_that_nobody_waited_for_is_taken_back_by_verify(
    five: Five, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "reassign", "orders", "--to", "3,4,5", "--execute", "--no-wait", "--throttle", "5000")
    five.world.advance(10_000)
    capsys.readouterr()
    assert run(["cluster", "reassign", "--verify"]) == 0
    assert capsys.readouterr().err == "The throttle was taken back.\n"
    assert settings(capsys, "topic", "orders") == {}
    assert settings(capsys, "broker", "3") == {}


def test_a_person_s_own_throttle_is_left_alone(five: Five, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["configs", "set", "topic", "orders", f"{LISTS[0]}=*"]) == 0
    assert run(["configs", "set", "broker", "2", f"{RATES[0]}=70000"]) == 0
    said(capsys, "reassign", "orders", "--to", "3,4,5", "--execute")
    assert settings(capsys, "topic", "orders") == {LISTS[0]: "*"}
    assert settings(capsys, "broker", "2") == {RATES[0]: "70000"}


# --- drain


def test_a_broker_is_drained(five: Five, capsys: pytest.CaptureFixture[str]) -> None:
    five.fill()
    lines = table(said(capsys, "drain", "3"))
    assert [line[:2] for line in lines[1:6]] == [["notes", "0"], *(["orders", str(one)] for one in range(4))]
    assert five.replicas() == ORDERS
    said_last = said(capsys, "drain", "3", "--execute").splitlines()[-2:]
    assert said_last == [
        "Moved 5 partitions.",
        "Broker 3 has no replicas. New topics may get some until it is stopped.",
    ]
    assert all(3 not in one for one in five.replicas() + five.replicas("notes"))
    for before, after in zip(ORDERS, five.replicas(), strict=True):
        assert set(before) - {3} < set(after), "other replicas stay"
    assert said(capsys, "drain", "3") == "Broker 3 has no replicas.\n"


def test_what_is_drained_of_a_supervised_cluster_is_not_to_be_stopped(
    five: Five, capsys: pytest.CaptureFixture[str]
) -> None:
    five.kill(1)
    five.world.node(1, odradek_cluster_directory="/run/sockets")
    five.world.advance(2 * SESSION_MS)
    assert said(capsys, "drain", "3", "--execute").splitlines()[-1] == (
        "Broker 3 has no replicas. Leave it running, and new topics may get some: serve --brokers takes no"
        " fewer brokers yet."
    )


def test_a_broker_that_is_down_is_drained(five: Five, capsys: pytest.CaptureFixture[str]) -> None:
    five.kill(3)
    capsys.readouterr()
    assert run(["cluster", "drain", "3", "--execute"]) == 1
    out, err = capsys.readouterr()
    assert ["notes", "0", "it", "has", "no", "leader,", "so", "nothing", "can", "be", "copied"] in table(out)
    assert err.splitlines()[-1] == "odradek: broker 3 keeps 1 replica"
    assert all(3 not in one for one in five.replicas())


def test_what_cannot_leave_a_broker_is_named_with_the_reason(
    five: Five, capsys: pytest.CaptureFixture[str]
) -> None:
    five.create("wide", [(1, 2, 3, 4, 5)])
    found = json.loads(said_failing(capsys, "drain", "3", "--json"))
    assert found["kept"] == [
        {
            "topic": "wide",
            "partition": 0,
            "reason": "it has 5 replicas, and without broker 3 there are only 4 brokers",
        }
    ]
    assert len(found["partitions"]) == 5


def test_a_drain_goes_on_where_another_has_begun(five: Five, capsys: pytest.CaptureFixture[str]) -> None:
    five.cut_off(4)
    said(capsys, "drain", "3", "--execute", "--no-wait")
    five.meanwhile.append(five.world.heal)
    assert said(capsys, "drain", "3", "--execute").splitlines()[-2].startswith("Moved ")
    assert all(3 not in one for one in five.replicas())


# --- refusals


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ("reassign", 2, "needs topics or --file, or one of --verify and --cancel"),
        ("reassign orders", 2, "needs --to BROKERS"),
        ("reassign orders --execute --verify", 2, "only one of --execute and --verify can be given"),
        ("reassign orders --file f --execute", 2, "--file names the partitions"),
        ("reassign --file f --to 1", 2, "--file names the replicas: --to cannot"),
        ("reassign --file f --replication-factor 1", 2, "--replication-factor cannot be given with it"),
        ("reassign orders --verify --to 1", 2, "--to makes a plan: it cannot be given with --verify"),
        ("reassign --cancel --replication-factor 2", 2, "cannot be given with --cancel"),
        ("reassign orders --to 1,2,3 --throttle 5", 2, "--throttle has no effect without --execute"),
        ("reassign --verify --no-wait", 2, "--no-wait has no effect without --execute"),
        ("drain 3 --save f", 2, "--save has no effect without --execute"),
        ("reassign orders --to 1,x", 2, "--to is ids of brokers, as 1,2,3, not '1,x'"),
        ("reassign orders --to 1,1", 2, "--to is different brokers, not '1,1'"),
        ("reassign orders --to 1,2,3 --throttle 0 --execute", 2, "a whole number of at least 1"),
        ("reassign orders:x --to 1,2,3", 2, "a partition is given as TOPIC:PARTITION"),
        ("reassign orders:9 --to 1,2,3", 1, "there is no partition 9 of topic orders"),
        ("reassign nowhere --to 1,2,3", 1, "there is no topic nowhere"),
        ("reassign nowhere --verify", 1, "there is no topic nowhere"),
        (
            "reassign orders --to 1,2,7",
            1,
            "there is no broker 7: the brokers of the cluster are 1, 2, 3, 4 and 5",
        ),
        ("reassign orders --to 1,2", 1, "orders-0 would have 3 replicas on 2 brokers"),
        ("drain", 2, "needs BROKER"),
        ("drain x", 2, "BROKER is a whole number"),
        ("drain 7", 1, "there is no broker 7: the brokers of the cluster are 1, 2, 3, 4 and 5"),
    ],
)
def test_refusals(
    five: Five, capsys: pytest.CaptureFixture[str], words: str, code: int, sentence: str
) -> None:
    text = said(capsys, *words.split(), code=code)
    assert sentence in text
    assert len(text.splitlines()) == 1
    assert five.replicas() == ORDERS


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "cannot read"),
        ("{", "is not JSON"),
        ("[]", 'has no list "partitions"'),
        ('{"partitions": []}', "names no partition"),
        ('{"version": 2, "partitions": []}', "its version is 2; the only one is 1"),
        ([1], "entry 1 is no object"),
        ([{"partition": 0, "replicas": [1]}], 'entry 1 has no "topic"'),
        ([{"topic": "orders", "partition": "0"}], 'entry 1 has no number "partition"'),
        ([{"topic": "orders", "partition": True}], 'entry 1 has no number "partition"'),
        ([{"topic": "orders", "partition": 0}], 'orders-0 has no list "replicas" of broker ids'),
        ([{"topic": "orders", "partition": 0, "replicas": [-1]}], 'orders-0 has no list "replicas"'),
        ([{"topic": "orders", "partition": 0, "replicas": []}], "orders-0 has an empty list of replicas"),
        (
            [{"topic": "orders", "partition": 0, "replicas": [1, 1]}],
            "orders-0 has two replicas on one broker",
        ),
        ([{"topic": "orders", "partition": 0, "replicas": [1]}] * 2, "orders-0 is there twice"),
        ([{"topic": "orders", "partition": 0, "replicas": [1], "log_dirs": []}], 'not one of "log_dirs"'),
        (
            [{"topic": "orders", "partition": 0, "replicas": [1], "log_dirs": ["/d"]}],
            "broker 1 has no log directory /d: it has /data",
        ),
        (
            [{"topic": "orders", "partition": 0, "replicas": [9]}],
            "orders-0 cannot have a new replica on broker 9",
        ),
        ([{"topic": "orders", "partition": 9, "replicas": [1]}], "there is no partition 9 of topic orders"),
        ([{"topic": "nowhere", "partition": 0, "replicas": [1]}], "there is no topic nowhere"),
    ],
)
def test_files_that_are_refused(
    five: Five, capsys: pytest.CaptureFixture[str], tmp_path: Path, content: object, sentence: str
) -> None:
    path = tmp_path / "plan.json"
    if isinstance(content, str):
        path.write_text(content)
    elif content is not None:
        path.write_text(json.dumps({"version": 1, "partitions": content}))
    text = said(capsys, "reassign", "--file", str(path), "--execute", code=1)
    assert sentence in text
    assert len(text.splitlines()) == 1


def test_a_file_that_exists_is_not_written_over(
    five: Five, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "before.json"
    path.write_text("mine")
    move = ("reassign", "orders", "--to", "3,4,5", "--execute", "--save")
    assert "exists already; nothing was moved" in said(capsys, *move, str(path), code=1)
    assert "cannot write" in said(capsys, *move, str(tmp_path / "no" / "such"), code=1)
    assert path.read_text() == "mine"
    assert five.replicas() == ORDERS


def said_failing(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The output of a command that fails."""
    capsys.readouterr()
    assert run(["cluster", *arguments]) == 1
    return capsys.readouterr().out


def document_failing(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """The JSON of a command that fails."""
    capsys.readouterr()
    assert run(["cluster", *arguments, "--json"]) == 1
    return json.loads(capsys.readouterr().out)
