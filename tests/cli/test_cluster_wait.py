"""`odradek cluster describe --wait` in a world of three brokers, and one without an answer."""

import json

import pytest

from odradek.base.closing import Closing
from odradek.base.error_codes import ErrorCode
from odradek.base.ids import NO_BROKER, TopicPartition
from odradek.cli import cluster, cluster_wait
from odradek.cli.connecting import ANSWER_MAX_S
from odradek.cli.main import run
from odradek.client import administering
from odradek.client.bootstrap import Address
from odradek.client.cluster_state import ClusterBroker, ClusterPartition, ClusterState
from odradek.client.configuration import ClientConfig
from odradek.client.core.admin.reassignments import reassignment_request
from odradek.client.settings import DEFAULT_API_TIMEOUT_MS, REQUEST_TIMEOUT_MS, Settings
from odradek.metadata.store import SessionEnded
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from tests.cli.cluster_world import SESSION_MS, Asked, ClusterWorld, connect_commands, document, said


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> ClusterWorld:
    made = ClusterWorld()
    made.create("orders", [(1, 2, 3), (2, 3, 1), (3, 1, 2)], **{"min.insync.replicas": "2"})
    made.create("notes", [(3,)])
    connect_commands(monkeypatch, made)
    return made


def now_s(world: ClusterWorld) -> float:
    return world.alive.clock.monotonic_ms() / 1000


def test_a_cluster_that_is_well_is_not_waited_for(
    three: ClusterWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    before_s = now_s(three)
    assert said(capsys, "describe", "--wait").splitlines()[-1] == cluster.HEALTHY
    assert document(capsys, "describe", "--wait", "5")["waits_for"] == []
    assert now_s(three) == before_s
    assert "waits_for" not in document(capsys, "describe")


def test_a_broker_that_comes_back_ends_the_wait(
    three: ClusterWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    three.kill(3)
    three.meanwhile = [lambda: None, lambda: three.world.node(3)]
    capsys.readouterr()
    assert run(["cluster", "describe", "--wait", "60"]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("waiting: broker 3 is not in the cluster; 1 partition offline: notes-0; ")
    # Partition 2 is led by another broker than the preferred one: nothing that one would wait for.
    assert "Of 4 partitions, 1 not led by their preferred leader." in out


def test_at_the_deadline_it_says_what_is_ill_and_fails(
    three: ClusterWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    three.kill(3)
    before_s = now_s(three)
    capsys.readouterr()
    assert run(["cluster", "describe", "--wait", "20", "--json"]) == 1
    out, err = capsys.readouterr()
    assert now_s(three) == before_s + 20
    found = json.loads(out)
    counts = found["counts"]
    assert (counts["offline"], counts["under_replicated"]) == (1, 3)
    assert found["waits_for"] == [
        "broker 3 is not in the cluster",
        "1 partition offline: notes-0",
        "3 partitions under-replicated: orders-0, orders-1, orders-2",
    ]
    assert err.splitlines()[-1] == f"odradek: after 20 s: {'; '.join(found['waits_for'])}"


def test_a_broker_that_does_not_answer_is_named_although_it_is_registered(
    three: ClusterWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = three.connect

    def deaf(address: Address | None = None) -> Asked:
        if address is not None and address[0].startswith("broker3"):
            raise ConnectionFailed("cannot connect to broker3.example:9092: connection refused")
        return connect(address)

    monkeypatch.setattr(three, "connect", deaf)
    said_of_it = "broker 3 does not answer: cannot connect to broker3.example:9092: connection refused"
    assert cluster_wait.look_at(ClientConfig(), 5.0).ills == [said_of_it]


def test_a_broker_that_only_the_command_names_is_waited_for(
    three: ClusterWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    three.create("some", [(1, 2)])
    three.kill(3)
    three.meanwhile = [lambda: three.world.node(3)]
    where = ",".join(f"broker{one}.example:9092" for one in (1, 3))
    assert run(["cluster", "describe", "--wait", "60", "-b", where]) == 0
    assert "broker3.example" in capsys.readouterr().err


def test_the_other_brokers_must_agree(three: ClusterWorld) -> None:
    """A broker that gets no orders still has the state of before, in which all is well."""
    assert not three.world.nodes[2].core.controller.is_active
    for other in (1, 3):
        three.world.cut(2, other)
    three.kill(3)
    ills = cluster_wait.look_at(ClientConfig("broker2.example:9092"), 5.0).ills
    assert ills[0] == "broker 1 says: broker 3 is not in the cluster"
    assert ills[-1].startswith("broker 3 does not answer: ")


@pytest.mark.parametrize("ends", [False, True], ids=["lost", "ended"])
def test_a_cluster_without_its_metadata_store_is_ill(
    three: ClusterWorld, capsys: pytest.CaptureFixture[str], ends: bool
) -> None:
    """ZooKeeper is away, or the supervisor; all brokers answer, and all replicas are in sync."""
    for broker_id, node in three.world.nodes.items():
        three.world.cut_store(broker_id)
        if ends:  # each broker's own side finds that the session has run out, and the store does, too
            three.world.store.closed(node.session.session_id)
            node.core.store_session._on_event(SessionEnded())
    three.world.advance(SESSION_MS)
    capsys.readouterr()
    assert run(["cluster", "describe", "--wait", "1"]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == cluster.NO_CONTROLLER
    assert err.splitlines()[-1] == "odradek: after 1 s: the cluster has no controller"
    found = document(capsys, "describe")
    assert (found["controller"], found["in_trouble"]) == (None, [])
    assert not any(row["role"] for row in found["brokers"])
    three.world.heal()
    three.world.advance(SESSION_MS)
    assert said(capsys, "describe", "--wait").splitlines()[-1] == cluster.HEALTHY


def test_a_move_under_way_is_no_trouble(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broker 4 is to have a replica, and cannot copy it; the controller says that it is being added."""
    four = ClusterWorld(4)
    four.create("orders", [(2, 3)], **{"min.insync.replicas": "2"})
    connect_commands(monkeypatch, four)
    orders = TopicPartition("orders", 0)
    four.world.cut(2, 4)
    sent = four.world.nodes[1].send(reassignment_request({orders: (2, 3, 4)}))
    four.world.advance(1_000)
    assert sent.answer.error_code == 0
    moving = ["Moves under way add replicas to 1 partition.", cluster.HEALTHY_APART_FROM]
    assert said(capsys, "describe", "--wait").splitlines()[-2:] == moving
    assert said(capsys, "describe").splitlines()[-2:] == moving
    four.kill(3)  # one of those that it has had before
    (row,) = document(capsys, "describe")["in_trouble"]
    assert (row["adding"], row["missing"]) == ([4], [{"broker": 3, "offline": True}])
    four.without.append(ListPartitionReassignmentsRequest)
    (row,) = document(capsys, "describe")["in_trouble"]
    assert [one["broker"] for one in row["missing"]] == [3, 4]


class Refusing(Closing):
    """An admin client of a cluster that cannot be reached."""

    def __init__(self, error: ConnectionFailed) -> None:
        self._error = error

    def reach(self) -> None:
        raise self._error

    def close(self) -> None:
        """Nothing to close."""


def test_no_broker_answers(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]

    class Clock:
        @staticmethod
        def monotonic() -> float:
            return now[0]

        @staticmethod
        def sleep(seconds: float) -> None:
            now[0] += seconds

    def refusing(settings: Settings, **_: object) -> Refusing:
        assert settings[REQUEST_TIMEOUT_MS] <= ANSWER_MAX_S * 1000
        assert settings[DEFAULT_API_TIMEOUT_MS] <= ANSWER_MAX_S * 1000
        return Refusing(ConnectionFailed("cannot connect to one:9092: connection refused"))

    monkeypatch.setattr(cluster_wait, "time", Clock)
    monkeypatch.setattr(administering, "opened", refusing)
    assert said(capsys, "describe", "--wait", "2", code=1).splitlines() == [
        "waiting: cannot connect to one:9092: connection refused",
        "odradek: after 2 s: cannot connect to one:9092: connection refused",
    ]
    assert now == [2.0]


def test_a_refusal_that_stays_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = ConnectionFailed("the password is wrong", ErrorCode.SASL_AUTHENTICATION_FAILED)
    monkeypatch.setattr(administering, "opened", lambda settings, **_: Refusing(refused))
    assert said(capsys, "describe", "--wait", code=1) == "odradek: the password is wrong\n"


@pytest.mark.parametrize(
    ("isr", "leader", "controller", "expected"),
    [
        ((1, 2), 1, 1, []),
        ((1, 2), 2, 1, []),  # not led by its preferred leader
        ((1,), 1, 1, ["1 partition under min ISR: t-0", "1 partition under-replicated: t-0"]),
        ((1, 2), NO_BROKER, 1, ["1 partition offline: t-0"]),
        ((1, 2), 1, NO_BROKER, ["the cluster has no controller"]),
    ],
)
def test_what_is_ill(isr: tuple[int, ...], leader: int, controller: int, expected: list[str]) -> None:
    """A partition at its min ISR with all replicas in sync is not ill."""
    brokers = [ClusterBroker(one, "host", 9092, None) for one in (1, 2)]
    held = ClusterPartition(TopicPartition("t", 0), leader, 3, (1, 2), isr, (), (), NO_BROKER, 2)
    assert cluster_wait.ills_of(ClusterState("id", controller, brokers, [held], 1)) == expected


def test_only_one_of_wait_and_watch(capsys: pytest.CaptureFixture[str]) -> None:
    assert "only one of --wait and --watch" in said(capsys, "describe", "--wait", "--watch", "5", code=2)
    assert "--wait is a number of seconds above 0" in said(capsys, "describe", "--wait", "0", code=2)
