"""Groups under kill -9 while their members come and go.

Members (unmodified librdkafka) join a group, stay for a moment, leave and come back, all the time: in a group
that rebalances eagerly, one that does so cooperatively, one of static members, which leave without a word and
come back before their session ends or after, two of the same kinds in the new protocol (KIP-848), and one
whose members speak different protocols, so that it is converted again and again. Most kills are aimed at a
group in the middle of a rebalance. After each kill the present members stay, and within `SETTLE_TIMEOUT_S`

- every partition has exactly one owner, as the members say and as the broker says;
- a record written to every partition then is read in every group, once.
"""

import contextlib
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from campaigns.crash.campaign import BEFORE_S, BUSY_OFFSETS_TOPIC, QUICK_RECONNECTS, QUIET, Broken, Load
from campaigns.crash.rebalances_check import check_read, misplaced
from odradek import Admin
from odradek.base.errors import OdradekError
from odradek.client.administering import Admin as OwnAdmin
from odradek.client.administering import administering
from odradek.client.configuration import ClientConfig
from odradek.client.core.admin.groups import describe_group, list_groups

TOPIC = "rebalances"
PARTITIONS = 8
MEMBERS = 3
SETTLE_TIMEOUT_S = 45.0
READ_TIMEOUT_S = 30.0
STAY_S = (0.1, 2.5)
AWAY_S = (0.0, 0.6)
COMMIT_PROBABILITY = 0.1
# Short, so that the session of a vanished member ends within a round; static ones may return before that.
SESSION_TIMEOUT_MS = 4_000
AIMED_PROBABILITY = 0.85
AIM_TIMEOUT_S = 2.0
AIM_DELAY_S = (0.0, 0.02)
STABLE = "Stable"
# Errors from which a consumer does not recover: as coordinators answer them, and as librdkafka names them.
FATAL = {KafkaError.UNRELEASED_INSTANCE_ID, KafkaError.FENCED_INSTANCE_ID, KafkaError._FATAL}


@dataclass(frozen=True, eq=False)
class Kind:
    """How the members of a group take part."""

    name: str
    # The first member's, the second's, and so on, in turns.
    settings: tuple[dict[str, str | int], ...]
    is_static: bool = False


_CLASSIC: dict[str, str | int] = {"session.timeout.ms": SESSION_TIMEOUT_MS, "heartbeat.interval.ms": 300}
_EAGER = {**_CLASSIC, "partition.assignment.strategy": "range,roundrobin"}
_COOPERATIVE = {**_CLASSIC, "partition.assignment.strategy": "cooperative-sticky"}
_CONSUMER: dict[str, str | int] = {"group.protocol": "consumer"}
KINDS = (
    Kind("eager", (_EAGER,)),
    Kind("cooperative", (_COOPERATIVE,)),
    Kind("static", (_EAGER,), is_static=True),
    Kind("consumer", (_CONSUMER,)),
    Kind("static-consumer", (_CONSUMER,), is_static=True),
    Kind("mixed", (_CONSUMER, _EAGER)),
)


class Member(threading.Thread):
    """Joins its group and leaves it, again and again, except while it is told to stay."""

    def __init__(self, bootstrap: str, kind: Kind, number: int, chance: random.Random) -> None:
        super().__init__(name=f"{kind.name}-{number}", daemon=True)
        self._kind = kind
        self._chance = chance
        static = {"group.instance.id": self.name} if kind.is_static else {}
        self._settings = {
            "bootstrap.servers": bootstrap,
            "group.id": kind.name,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **kind.settings[number % len(kind.settings)],
            **static,
            **QUICK_RECONNECTS,
            **QUIET,
        }
        self._staying = threading.Event()
        self._ending = threading.Event()
        self.read: list[int] = []
        self.owned: list[int] = []
        self.joins = 0
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            while not self._ending.is_set():
                self._take_part()
                self.owned = []
                self._ending.wait(self._chance.uniform(*AWAY_S))
        except Exception as failure:
            self.failure = failure

    def _take_part(self) -> None:
        consumer = Consumer(self._settings)
        consumer.subscribe([TOPIC])
        self.joins += 1
        until = time.monotonic() + self._chance.uniform(*STAY_S)
        while (self._staying.is_set() or time.monotonic() < until) and not self._ending.is_set():
            message = consumer.poll(0.05)
            self.owned = sorted(one.partition for one in consumer.assignment())
            if message is None:
                continue
            error = message.error()
            if error is not None and error.code() in FATAL:
                break  # A static member whose leave got lost is refused until its session ends (KIP-848).
            if error is not None:
                continue
            value = message.value()
            assert value is not None, "a record without a value"
            self.read.append(int(value))
            if self._chance.random() < COMMIT_PROBABILITY:
                with contextlib.suppress(KafkaException):  # perhaps in a rebalance
                    consumer.commit(asynchronous=True)
        consumer.close()

    def stay(self) -> None:
        """From now on be a member; if it is away it comes back."""
        self._staying.set()

    def come_and_go(self) -> None:
        """From now on leave from time to time."""
        self._staying.clear()

    def finish(self) -> None:
        """Leave for good."""
        self._ending.set()
        self.join()


class Rebalances(Load):
    """Groups that are never at rest before a kill."""

    broker_settings: ClassVar[dict[str, str]] = {
        "group.min.session.timeout.ms": "1000",
        "group.consumer.min.session.timeout.ms": "1000",
        "group.consumer.session.timeout.ms": str(SESSION_TIMEOUT_MS),
        "group.consumer.min.heartbeat.interval.ms": "100",
        "group.consumer.heartbeat.interval.ms": "300",
        **BUSY_OFFSETS_TOPIC,
    }

    def __init__(self, bootstrap: str, chance: random.Random) -> None:
        super().__init__(bootstrap, chance)
        with Admin(bootstrap) as admin:
            admin.create_topic(TOPIC, partitions=PARTITIONS)
        self._groups = {
            kind: [
                Member(bootstrap, kind, number, random.Random(chance.random())) for number in range(MEMBERS)
            ]
            for kind in KINDS
        }
        self._members = [member for members in self._groups.values() for member in members]
        self._producer = Producer({"bootstrap.servers": bootstrap, **QUICK_RECONNECTS, **QUIET})
        self._written = 0
        self._kills_in_a_rebalance = 0
        self._waited_s_max = 0.0
        for member in self._members:
            member.start()

    def begin(self) -> None:
        for member in self._members:
            member.come_and_go()

    def await_moment(self) -> None:
        time.sleep(self._chance.uniform(*BEFORE_S))
        with administering(ClientConfig(self._bootstrap), tries_again=False) as admin:
            if self._chance.random() < AIMED_PROBABILITY:
                deadline = time.monotonic() + AIM_TIMEOUT_S
                while not self._rebalancing(admin) and time.monotonic() < deadline:
                    time.sleep(0.002)
                time.sleep(self._chance.uniform(*AIM_DELAY_S))
            self._kills_in_a_rebalance += bool(self._rebalancing(admin))

    def _rebalancing(self, admin: OwnAdmin) -> list[str]:
        try:
            found = admin.carry_out(list_groups())
            return [one.group for one in found if one.state not in (STABLE, "Empty", "Dead")]
        except OdradekError:
            return []  # The groups are being loaded.

    def settle(self) -> None:
        started = time.monotonic()
        for member in self._members:
            member.stay()
        self._await(self._unsettled, "every group at rest", SETTLE_TIMEOUT_S)
        self._waited_s_max = max(self._waited_s_max, time.monotonic() - started)

    def _unsettled(self) -> list[str]:
        found = []
        for kind, members in self._groups.items():
            told = misplaced({member.name: member.owned for member in members}, PARTITIONS)
            found += [f"{kind.name}: its members say: {words}" for words in told]
            if not told:
                found += self._unsettled_at_broker(kind)
        return found

    def _unsettled_at_broker(self, kind: Kind) -> list[str]:
        try:
            with administering(ClientConfig(self._bootstrap), tries_again=False) as admin:
                group = admin.carry_out(describe_group(kind.name))
        except OdradekError as error:
            return [f"{kind.name}: {error}"]
        if group.state != STABLE:
            return [f"{kind.name}: it is {group.state}"]
        owned = {one.member: [place.partition for place in one.partitions] for one in group.members}
        return [f"{kind.name}: the broker says: {words}" for words in misplaced(owned, PARTITIONS)]

    def check(self) -> None:
        """Write a record to every partition, and see every group read it."""
        expected = range(self._written, self._written + PARTITIONS)
        self._written = expected.stop
        errors: list[str] = []
        for number in expected:
            self._producer.produce(
                TOPIC,
                str(number),
                partition=number % PARTITIONS,
                on_delivery=lambda error, _: errors.append(str(error)) if error else None,
            )
        if self._producer.flush(READ_TIMEOUT_S) or errors:
            raise Broken(f"a record was not written: {errors}")

        def unread() -> list[str]:
            return [
                f"{kind.name}: {sorted(left)}"
                for kind in self._groups
                if (left := set(expected).difference(*self._read(kind).values()))
            ]

        self._await(unread, "every record read", READ_TIMEOUT_S)
        for kind in self._groups:
            check_read(kind.name, expected, self._read(kind))

    def _read(self, kind: Kind) -> dict[str, list[int]]:
        return {member.name: list(member.read) for member in self._groups[kind]}

    def _await(self, still: Callable[[], Sequence[str]], what: str, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while left := still():
            for member in self._members:
                if member.failure is not None:
                    raise Broken(f"{member.name} failed: {member.failure!r}")
            if time.monotonic() > deadline:
                raise Broken(f"waited {timeout_s} s for {what}; not yet: {left}")
            time.sleep(0.02)

    def counted(self) -> dict[str, int]:
        return {
            "joins": sum(member.joins for member in self._members),
            "kills_in_a_rebalance": self._kills_in_a_rebalance,
            "longest_wait_ms": round(self._waited_s_max * 1_000),
            "written": self._written,
        }

    def close(self) -> None:
        for member in self._members:
            member.finish()
