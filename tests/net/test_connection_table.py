from dataclasses import dataclass, replace

from odradek.net.connection_table import ConnectionLimits, ConnectionTable


@dataclass(eq=False)
class Connection:
    peer_host: str = "10.0.0.1"
    peer_port: int = 1
    client_id: str = "me"
    software: str = "library 1.0"
    listener: str = "PLAINTEXT"
    requests: int = 3
    bytes_in: int = 10
    bytes_out: int = 20
    was_active: bool = True
    idle_since_ms: int = 0
    is_handling: bool = False
    waiting_requests: int = 0
    unsent_bytes: int = 0
    closed: bool = False

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True


def table(**limits: int) -> ConnectionTable:
    return ConnectionTable(lambda: replace(ConnectionLimits(), **limits))  # type: ignore[arg-type]


def test_no_more_connections_than_allowed_in_all_and_per_host() -> None:
    connections = table(connections_max=3, connections_per_host_max=2)
    first = Connection()
    assert connections.admit(first) is None
    assert connections.admit(Connection()) is None
    assert connections.admit(Connection()) == "2 of 10.0.0.1 are open; max.connections.per.ip allows 2"
    assert connections.admit(Connection("10.0.0.2")) is None
    refused = connections.admit(Connection("10.0.0.3"))
    assert refused == "3 are open; max.connections allows 3"
    connections.forget(first)
    assert connections.admit(Connection()) is None
    assert (len(connections), connections.opened, connections.refused) == (3, 4, 2)


def test_a_refused_connection_that_ends_frees_no_place_of_others() -> None:
    connections = table(connections_per_host_max=1)
    connections.admit(Connection())
    refused = Connection()
    connections.admit(refused)
    connections.forget(refused)
    assert connections.admit(Connection()) is not None


def test_idle_connections_are_closed_after_their_time_and_no_sooner() -> None:
    connections = table(idle_ms_max=600)
    idle, busy = Connection(), Connection()
    connections.admit(idle)
    connections.admit(busy)
    assert connections.sweep_interval_ms() == 60
    for now_ms in range(0, 660, 60):
        busy.was_active = True
        closed = connections.close_idle(now_ms)
        assert (closed, idle.closed) == ((1, True) if now_ms == 600 else (0, False)), now_ms
    assert not busy.closed


def test_one_that_waits_for_our_answer_or_does_not_take_it_is_idle_too() -> None:
    """As in Kafka: with a second request behind the parked one, nothing is read and no end is noticed."""
    connections = table(idle_ms_max=100)
    parked, slow = Connection(is_handling=True), Connection(is_handling=True, unsent_bytes=1)
    connections.admit(parked)
    connections.admit(slow)
    for now_ms in (0, 50, 100, 150):
        connections.close_idle(now_ms)
    assert (parked.closed, slow.closed) == (True, True)


def test_a_negative_idle_time_closes_nobody() -> None:
    connections = table(idle_ms_max=-1)
    idle = Connection()
    connections.admit(idle)
    for now_ms in range(0, 10_000_000, connections.sweep_interval_ms()):
        assert connections.close_idle(now_ms) == 0
    assert not idle.closed


def test_what_closed_connections_moved_stays_in_the_totals() -> None:
    connections = table()
    gone = Connection()
    connections.admit(gone)
    connections.admit(Connection())
    connections.forget(gone)
    assert connections.totals() == (6, 20, 40)
    assert [row["client"] for row in connections.describe()] == ["10.0.0.1:1"]
