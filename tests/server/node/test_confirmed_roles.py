"""Whether a broker still leads what it believes to lead (R19)."""

import pytest

from odradek.base.clock import ManualClock
from odradek.base.ids import NO_EPOCH, TopicPartition
from odradek.metadata.memory import MemoryStore
from odradek.metadata.store import SessionEnded, SessionOpened
from odradek.server.node.confirmed_roles import (
    STAND_STILLS_PER_TIMEOUT,
    TICKS_PER_TIMEOUT,
    ConfirmedRoles,
)
from odradek.server.node.store_session import StoreSession
from odradek.timer import Timer

TIMEOUT_MS = 9_000
ROLE, OTHER = TopicPartition("__consumer_offsets", 3), TopicPartition("__consumer_offsets", 4)


class Bench:
    """A broker with an open session and registration 5, in which it got two roles; it ticks as it should."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore()
        self.held = self.store.session()
        self.session = StoreSession(self.held, Timer(self.clock))
        self.registered = NO_EPOCH
        self.roles = ConfirmedRoles(self.session, lambda: self.registered, self.clock, lambda: TIMEOUT_MS)
        self.session.open()
        self.store.deliver()
        self.registered = 5
        self.roles.on_roles([ROLE, OTHER], 5)
        self.roles.tick()

    def let_time_pass(self, ms: int) -> None:
        for _ in range(ms // self.roles.tick_ms):
            self.clock.advance(self.roles.tick_ms)
            self.roles.tick()

    def expire(self) -> None:
        """The session ends; a new one is opened, in which the broker is not registered yet."""
        self.held.expire()
        self.store.deliver()

    @property
    def confirmed(self) -> list[TopicPartition]:
        return [one for one in (ROLE, OTHER) if self.roles.is_confirmed(one)]


@pytest.fixture
def bench() -> Bench:
    """A broker."""
    return Bench()


def test_roles_are_confirmed_while_the_broker_runs(bench: Bench) -> None:
    assert bench.roles.tick_ms == TIMEOUT_MS // TICKS_PER_TIMEOUT
    bench.let_time_pass(10 * TIMEOUT_MS)
    bench.clock.advance(TIMEOUT_MS // STAND_STILLS_PER_TIMEOUT - 1)  # a slow machine
    assert bench.confirmed == [ROLE, OTHER]
    bench.roles.tick()
    assert not bench.store.has_waiting, "the store is not asked"


def test_after_a_stand_still_the_store_confirms_them(bench: Bench) -> None:
    bench.clock.advance(TIMEOUT_MS // STAND_STILLS_PER_TIMEOUT)
    assert bench.confirmed == [], "before the first tick"
    bench.roles.tick()
    bench.let_time_pass(TIMEOUT_MS)
    assert bench.confirmed == [], "before the answer"
    assert bench.store.deliver() == 1
    assert bench.confirmed == [ROLE, OTHER]


def test_a_broker_without_ticks_is_alone_and_does_not_stand_still() -> None:
    clock = ManualClock()
    session = StoreSession(MemoryStore().session(), Timer(clock))
    roles = ConfirmedRoles(session, lambda: NO_EPOCH, clock, lambda: TIMEOUT_MS)
    clock.advance(10 * TIMEOUT_MS)
    assert roles.is_confirmed(ROLE)


def test_after_the_end_of_a_session_an_order_confirms_each_role(bench: Bench) -> None:
    bench.expire()
    assert bench.confirmed == []
    bench.roles.on_roles([ROLE, OTHER], 5)
    assert bench.confirmed == [], "an order for the former registration, which was on its way"
    bench.roles.on_roles([OTHER], 8)
    assert bench.confirmed == [OTHER], "the controller knew of the registration before the broker did"
    bench.registered = 8
    bench.roles.on_roles([ROLE], 8)
    assert bench.confirmed == [ROLE, OTHER]
    bench.expire()
    assert bench.confirmed == []


def test_an_order_for_a_registration_that_the_broker_never_learned_of_does_not_count_later(
    bench: Bench,
) -> None:
    bench.expire()
    bench.roles.on_roles([ROLE], 8)
    bench.expire()
    bench.roles.on_roles([ROLE], 8)
    assert bench.confirmed == []


def test_a_session_that_ends_before_the_store_answers_leaves_no_question(bench: Bench) -> None:
    bench.clock.advance(TIMEOUT_MS)
    bench.roles.tick()
    bench.expire()
    assert bench.confirmed == []
    bench.roles.on_roles([ROLE, OTHER], 8)
    assert bench.confirmed == [ROLE, OTHER]


def test_attempts_to_open_a_first_session_that_fail_change_nothing() -> None:
    clock = ManualClock()
    store = MemoryStore()
    held = store.session()
    session = StoreSession(held, Timer(clock))
    roles = ConfirmedRoles(session, lambda: NO_EPOCH, clock, lambda: TIMEOUT_MS)
    session.open()
    store.deliver()
    held.expire()
    store.deliver()
    roles.on_roles([ROLE], 5)
    assert roles.is_confirmed(ROLE)


def test_a_store_that_is_silent_takes_no_role_until_there_is_a_next_session(bench: Bench) -> None:
    """Its process was killed: no other broker can take over, so groups go on at this one."""
    bench.roles.on_session_event(SessionEnded(is_told=False))
    bench.roles.on_session_event(SessionEnded(is_told=False))  # an attempt to open the next one
    bench.let_time_pass(10 * TIMEOUT_MS)
    assert bench.confirmed == [ROLE, OTHER]
    bench.roles.on_session_event(SessionOpened(2))
    assert bench.confirmed == [], "the store is back, and may have given the roles to others"
    bench.roles.on_roles([ROLE], 5)
    assert bench.confirmed == []
    bench.roles.on_roles([ROLE, OTHER], 8)
    assert bench.confirmed == [ROLE, OTHER]
    bench.roles.on_session_event(SessionOpened(3))
    assert bench.confirmed == [ROLE, OTHER]


def test_a_broker_that_stood_still_before_the_store_fell_silent_waits_for_its_roles(bench: Bench) -> None:
    bench.clock.advance(TIMEOUT_MS)
    bench.roles.tick()
    bench.roles.on_session_event(SessionEnded(is_told=False))
    bench.let_time_pass(TIMEOUT_MS)
    assert bench.confirmed == [], "the session may have ended while the broker stood still"
    bench.roles.on_session_event(SessionOpened(2))
    bench.roles.on_roles([ROLE, OTHER], 8)
    assert bench.confirmed == [ROLE, OTHER]


def test_a_broker_that_stands_still_without_a_session_waits_for_its_roles(bench: Bench) -> None:
    bench.held.expire()
    bench.roles.on_session_event(SessionEnded(is_told=False))
    bench.roles.on_roles([ROLE, OTHER], 5)
    bench.clock.advance(TIMEOUT_MS)
    bench.roles.tick()
    bench.store.deliver()
    assert bench.confirmed == [], "there was no session to ask in"
    bench.roles.on_roles([ROLE], 8)
    assert bench.confirmed == [ROLE]
