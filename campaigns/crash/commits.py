"""Committed offsets under kill -9.

Committers (unmodified librdkafka) commit ever higher numbers, one request after the other: as members of a
group, as static members, as members by the new protocol (KIP-848), and as plain consumers that were assigned
their partitions by hand. Other groups are made by one commit, and some deleted again. After each kill,
and again when all committers continue:

- a fetched offset is not below the last acknowledged one and not above the last attempted one;
- the offsets of one request are all there or none is;
- groups that committed once still have that offset; deleted ones have none;
- every committer continues: a commit is acknowledged after the restart within `PROGRESS_TIMEOUT_S`.
"""

import random
import threading
import time
from typing import ClassVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from campaigns.crash.campaign import BUSY_OFFSETS_TOPIC, QUICK_RECONNECTS, QUIET, Broken, Load
from campaigns.crash.commits_check import Committed, Promise, Standing
from odradek import Admin
from odradek.base.errors import OdradekError
from odradek.base.ids import TopicPartition as Place
from odradek.client.administering import Admin as OwnAdmin
from odradek.client.administering import administering
from odradek.client.configuration import ClientConfig
from odradek.client.core.admin.groups import alter_group_offsets, delete_group, list_group_offsets

TOPIC = "commits"
PARTITIONS = 4
COMMITTERS_OF_A_KIND = 2
PROGRESS_TIMEOUT_S = 30.0
FETCH_TIMEOUT_S = 30.0
ASK_AGAIN_S = 0.1
STANDING_PER_S = 30.0
STANDING_MAX = 400
DELETED_SHARE = 0.3
# How many of the deleted groups one check reads.
DELETED_CHECKED = 100


class Committer(threading.Thread):
    """One consumer that commits the next number until it is told to stop."""

    def __init__(self, bootstrap: str, kind: str, number: int) -> None:
        super().__init__(daemon=True)
        self.promise = Promise(f"{kind}-{number}")
        self._kind = kind
        self._ending = threading.Event()
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": self.promise.group,
                "enable.auto.commit": False,
                # A static member's place outlives its session; a plain consumer has no place in the group.
                **({"group.instance.id": "only"} if kind == "static" else {}),
                **({"group.protocol": "consumer"} if kind == "consumer" else {}),
                **QUICK_RECONNECTS,
                **QUIET,
            }
        )

    def run(self) -> None:
        if self._kind == "plain":
            self._consumer.assign([TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)])
        else:
            self._consumer.subscribe([TOPIC])
        while not self._ending.is_set():
            self._consumer.poll(0)
            if len(self._consumer.assignment()) == PARTITIONS:
                self._commit()
            else:
                self._consumer.poll(0.05)
        self._consumer.close()

    def _commit(self) -> None:
        promise = self.promise
        promise.attempted = number = promise.attempted + 1
        offsets = [TopicPartition(TOPIC, each, number, str(number)) for each in range(PARTITIONS)]
        try:
            answered = self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException:
            promise.refused += 1
            return
        assert answered is not None, "a synchronous commit without an answer"
        if any(one.error is not None for one in answered):
            promise.refused += 1
        else:
            promise.acknowledged = number

    def finish(self) -> None:
        """Stop, and leave the group."""
        self._ending.set()
        self.join()


class Founder(threading.Thread):
    """Makes groups by one commit and deletes some of them, until it is told to stop."""

    def __init__(self, address: str, standing: Standing, chance: random.Random) -> None:
        super().__init__(daemon=True)
        self._address = address
        self._standing = standing
        self._chance = chance
        self._ending = threading.Event()
        self._made: list[str] = []
        self.deleted = 0
        self.lost: list[str] = []  # groups that were unknown when they were to be deleted

    def run(self) -> None:
        while not self._ending.is_set():
            try:
                with administering(ClientConfig(self._address), tries_again=False) as admin:
                    while not self._ending.wait(1 / STANDING_PER_S):
                        self._work(admin)
            except OdradekError:
                # The broker is away, or is loading: the outcome of the request is unknown.
                self._ending.wait(0.02)

    def _work(self, admin: OwnAdmin) -> None:
        if len(self._made) >= STANDING_MAX or (self._made and self._chance.random() < DELETED_SHARE):
            group = self._made.pop(self._chance.randrange(len(self._made)))
            # A deletion is asked for again when the coordinator has moved, perhaps after it was done.
            if not admin.carry_out(list_group_offsets(group)):
                self.lost.append(group)
            self._standing.leave_open(group)
            admin.carry_out(delete_group(group))
            self._standing.expect(group, None)
            self.deleted += 1
            return
        offset = self._chance.randrange(1 << 40)
        group = f"standing-{offset}"
        self._standing.leave_open(group)
        admin.carry_out(alter_group_offsets(group, {Place(TOPIC, 0): offset}))
        self._standing.expect(group, offset)
        self._made.append(group)

    def finish(self) -> None:
        """Stop."""
        self._ending.set()
        self.join()


class Commits(Load):
    """Committers that never pause."""

    broker_settings: ClassVar[dict[str, str]] = BUSY_OFFSETS_TOPIC

    def __init__(self, bootstrap: str, chance: random.Random) -> None:
        super().__init__(bootstrap, chance)
        with Admin(bootstrap) as admin:
            admin.create_topic(TOPIC, partitions=PARTITIONS)
        kinds = ("member", "static", "consumer", "plain")
        self._committers = [
            Committer(bootstrap, kind, number) for kind in kinds for number in range(COMMITTERS_OF_A_KIND)
        ]
        self._standing = Standing()
        self._founder = Founder(bootstrap, self._standing, random.Random(chance.random()))
        self._readers = {
            committer.promise.group: Consumer(
                {
                    "bootstrap.servers": bootstrap,
                    "group.id": committer.promise.group,
                    **QUICK_RECONNECTS,
                    **QUIET,
                }
            )
            for committer in self._committers
        }

    def begin(self) -> None:
        if not self._founder.is_alive():
            for thread in (*self._committers, self._founder):
                thread.start()
            self._await_progress()

    def settle(self) -> None:
        self._check_committers()
        self._await_progress()

    def _await_progress(self) -> None:
        before = {one: one.promise.acknowledged for one in self._committers}
        deadline = time.monotonic() + PROGRESS_TIMEOUT_S
        while still := [one.promise for one in before if one.promise.acknowledged == before[one]]:
            if time.monotonic() > deadline:
                raise Broken(f"no commit was acknowledged for {PROGRESS_TIMEOUT_S} s: {still}")
            time.sleep(0.01)

    def check(self) -> None:
        self._check_committers()
        self._check_standing()
        if self._founder.lost:
            raise Broken(f"groups were gone before they were deleted: {self._founder.lost}")

    def _check_committers(self) -> None:
        for committer in self._committers:
            acknowledged = committer.promise.acknowledged
            found = self._fetch(committer.promise.group)
            committer.promise.check(found, acknowledged)

    def _fetch(self, group: str) -> dict[int, Committed | None]:
        wanted = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
        deadline = time.monotonic() + FETCH_TIMEOUT_S
        while True:
            try:
                found = self._readers[group].committed(wanted, FETCH_TIMEOUT_S)
                break
            except KafkaException as error:
                # librdkafka looks for the coordinator again, and leaves asking it to its user.
                has_moved = error.args[0].code() == KafkaError.NOT_COORDINATOR
                if not has_moved or time.monotonic() > deadline:
                    raise Broken(f"the offsets of group {group} cannot be fetched: {error}") from None
                time.sleep(ASK_AGAIN_S)
        for one in found:
            if one.error is not None:
                raise Broken(f"the offsets of group {group} cannot be fetched: {one.error}")
        return {one.partition: (one.offset, one.metadata or "") if one.offset >= 0 else None for one in found}

    def _check_standing(self) -> None:
        expected = self._standing.snapshot()
        deleted = [group for group, offset in expected.items() if offset is None]
        for group in self._chance.sample(deleted, max(0, len(deleted) - DELETED_CHECKED)):
            del expected[group]
        with Admin(self._bootstrap) as admin:
            found = {group: admin.list_group_offsets(group).get(Place(TOPIC, 0)) for group in expected}
        # The outcome for a group that is being deleted meanwhile is open: any answer is right.
        still = self._standing.snapshot()
        for group, offset in expected.items():
            if group in still and still[group] == offset:
                self._standing.check(group, offset, found[group])

    def acknowledged(self) -> int:
        promises = [committer.promise for committer in self._committers]
        return sum(one.attempted - one.refused for one in promises)

    def counted(self) -> dict[str, int]:
        promises = [committer.promise for committer in self._committers]
        return {
            # Each number counts; librdkafka reports those that were not acknowledged as refused.
            "acknowledged": sum(one.attempted + 1 - one.refused for one in promises),
            "unanswered_or_refused": sum(one.refused for one in promises),
            "standing": sum(offset is not None for offset in self._standing.snapshot().values()),
            "deleted": self._founder.deleted,
        }

    def close(self) -> None:
        if self._founder.is_alive():
            self._founder.finish()
        for reader in self._readers.values():
            reader.close()
        for committer in self._committers:
            if committer.is_alive():
                committer.finish()
