"""What a seed decides before a trial begins: the cluster, its topics, its clients, and what goes wrong when.

Nothing of it depends on how the trial goes. So a part of the mishaps can be left out and the others stay as
they were: that is how a failing history is made shorter.

    plan = draw_plan(17, brokers=3)
    plan.mishaps[4]             Mishap(number=4, at_ms=21_340, after_steps=12, kind="kill", on="leader", ...)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from odradek.base.chance import Chance, SeededChance
from odradek.base.values import value
from odradek.testing.sim.trial.group_settings import group_settings

T = TypeVar("T")

LOAD_MS: Final = 60_000
"""How long clients send requests."""
SETTLING_MS: Final = 60_000
"""After the last mishap, when everything must be in order again."""
PAUSES_MS: Final[Mapping[int, int]] = {0: 220, 2: 180, 20: 100}
"""The pause of clients for each latency of links, where `load.Load.pause` does not change it."""
EXTREME_ONE_IN: Final = 8
"""One seed in so many has several times as many mishaps, of few kinds."""

WEIGHTS: Final[Mapping[str, int]] = {
    "kill": 6,
    "kill in a write": 5,
    "power loss": 5,
    "power loss in a write": 6,
    "power loss after a truncation": 10,
    "power loss of the last in sync": 14,
    "stop": 4,
    "pause": 5,
    "isolate": 4,
    "isolate, then kill": 6,
    "cut": 5,
    "cut one way": 6,
    "drop": 4,
    "slow link": 5,
    "slow disk": 4,
    "power loss on a slow disk": 6,
    "power loss behind slow links": 6,
    "full disk": 3,
    "cut from the store": 8,
    "expire": 5,
    "lose an answer of the store": 8,
    "lose the answer of a claim": 4,
    "jump of the clock": 4,
    "cut clients": 3,
    "stale fetch": 30,
    "power loss after a checkpoint": 6,
    "orders of a deposed controller": 6,
    "change while cut from the store": 10,
    "slow orders to one that joins": 6,
    "zombie leader": 6,
    "death of the last in sync": 7,
}
"""The kinds of mishaps, with how often each happens among the others."""
DISK_LOSSES: Final = ("loss of a disk", "loss of a disk while all are down")
"""Kinds that some seeds have once, beside those of WEIGHTS."""
DISK_LOSS_ONE_IN: Final = 4
"""One seed in so many has one of DISK_LOSSES."""
LAST_MS: Final = 8_000
"""Half of these come at the end of the load: few mishaps follow that let brokers be told their roles."""
ROLES: Final = ("any", "any", "leader", "leader", "follower", "controller", "coordinator")
"""Whom a mishap is to hit; who that is shows when it happens."""


@value
class Mishap:
    """One thing that goes wrong, and ends by itself."""

    number: int
    at_ms: int
    """The earliest time."""
    after_steps: int
    """How many more steps the world takes at that time, so that it happens in the middle of something."""
    kind: str
    on: str
    """The role of the broker that it happens to."""
    lasts_ms: int
    """After that it is undone: the broker starts again, the link is mended."""
    amount: int
    """A number in [0, 1,000,000) whose use depends on the kind."""


@value
class TopicPlan:
    """A topic that exists from the beginning to the end."""

    name: str
    partitions: int
    replicas: int
    min_isr: int
    settings: tuple[tuple[str, str], ...] = ()
    """Its other settings, with underscores for dots."""

    @property
    def is_compacted(self) -> bool:
        """Whether its records have keys (`history.key_of`)."""
        return "cleanup_policy" in dict(self.settings)

    @property
    def is_replicated(self) -> bool:
        """Whether it survives the loss of a disk; transactions are about such topics."""
        return self.min_isr > 1


@value
class Plan:
    """Everything that is drawn."""

    seed: int
    broker_ids: Sequence[int]
    broker_settings: Mapping[str, str]
    topics: Sequence[TopicPlan]
    session_timeout_ms: int
    """How long the store waits for a broker that it does not hear from."""
    latency_ms: int
    """The usual delay of a link, at most."""
    pause_ms: int
    """The usual pause of a client between two requests, at most."""
    mishaps: Sequence[Mishap]
    is_extreme: bool

    @property
    def has_transactions(self) -> bool:
        """Whether there are transactional clients, and a compacted topic."""
        return has_transactions(self.seed)

    @property
    def has_groups(self) -> bool:
        """Whether there are members of groups."""
        return not self.has_transactions

    @property
    def flushes_before_ack(self) -> bool:
        """Whether what is acknowledged is on the leader's disk."""
        return self.broker_settings["odradek_log_flush_before_ack"] == "true"


def draw_plan(seed: int, brokers: int = 3) -> Plan:
    """What the seed decides, for so many brokers."""
    chance = SeededChance(seed)
    is_extreme = chance.below(EXTREME_ONE_IN) == 0
    latency_ms = _pick(chance, tuple(PAUSES_MS))
    broker_ids = tuple(range(1, brokers + 1))
    settings = {
        "replica_lag_time_max_ms": _pick(chance, ("1500", "4000", "10000")),
        "num_replica_fetchers": _pick(chance, ("1", "2")),
        "replica_high_watermark_checkpoint_interval_ms": _pick(chance, ("500", "5000")),
        "log_flush_offset_checkpoint_interval_ms": _pick(chance, ("200", "2000", "60000")),
        "log_flush_start_offset_checkpoint_interval_ms": _pick(chance, ("2000", "60000")),
        "default_replication_factor": str(min(3, brokers)),
        # Of topics that do not say it themselves; those of a trial do.
        "min_insync_replicas": _pick(chance, ("1", str(min(2, brokers)))),
        "log_roll_ms": _pick(chance, ("1000", "4000", "60000")),
        "log_flush_interval_messages": _pick(chance, ("1", "10", "100000")),
        "odradek_log_flush_before_ack": _pick(chance, ("false", "true")),
        "offsets_topic_num_partitions": "1",
        "transaction_state_log_num_partitions": "1",
        **(_draw_transactions(chance, brokers) if has_transactions(seed) else {}),
        # With it a stop would take longer, and the histories of the seeds that have been run would change.
        "controlled_shutdown_enable": "false",
        "log_cleaner_enable": "true" if has_transactions(seed) else "false",
        **group_settings(seed),
    }
    return Plan(
        seed,
        broker_ids,
        settings,
        _draw_topics(chance, brokers, with_compacted=has_transactions(seed)),
        session_timeout_ms=_pick(chance, (2_000, 6_000, 18_000)),
        latency_ms=latency_ms,
        pause_ms=PAUSES_MS[latency_ms],
        mishaps=_with_disk_loss(seed, _draw_mishaps(chance, is_extreme=is_extreme)),
        is_extreme=is_extreme,
    )


def has_transactions(seed: int) -> bool:
    """Whether a seed's clients have transactions; the others have groups.

    Half of the seeds for each: with both a trial would take too long.
    """
    return seed % 2 == 1


def _draw_transactions(chance: Chance, brokers: int) -> Mapping[str, str]:
    return {
        "transaction_state_log_replication_factor": str(min(3, brokers)),
        "transaction_state_log_min_isr": str(min(2, brokers)),
        "transaction_abort_timed_out_transaction_cleanup_interval_ms": _pick(chance, ("500", "4000")),
        "log_cleaner_backoff_ms": _pick(chance, ("700", "3000")),
        "log_cleaner_min_cleanable_ratio": _pick(chance, ("0.01", "0.5")),
        "log_cleaner_delete_retention_ms": _pick(chance, ("0", "5000", "86400000")),
    }


def _draw_topics(chance: Chance, brokers: int, *, with_compacted: bool) -> tuple[TopicPlan, ...]:
    replicas, min_isr = min(3, brokers), min(2, brokers)
    topics = (
        TopicPlan("orders", 1 + chance.below(3), replicas, min_isr),
        TopicPlan("prices", 1 + chance.below(2), replicas, min_isr),
        TopicPlan("notes", 2, 1, 1),
    )
    if not with_compacted:
        return topics
    settings = (("cleanup_policy", "compact"), ("segment_ms", _pick(chance, ("1000", "4000"))))
    return (*topics, TopicPlan("facts", 1, replicas, min_isr, settings))


def _draw_mishaps(chance: Chance, *, is_extreme: bool) -> tuple[Mishap, ...]:
    count = 6 + chance.below(14)
    kinds = [kind for kind, weight in WEIGHTS.items() for _ in range(weight)]
    if is_extreme:
        count = 20 + chance.below(30)
        few = [_pick(chance, tuple(WEIGHTS)) for _ in range(3)]
        kinds = [kind for kind in kinds if kind in few]
    times = sorted(1_000 + chance.below(LOAD_MS - 4_000) for _ in range(count))
    return tuple(
        Mishap(
            number,
            at_ms,
            chance.below(60),
            _pick(chance, kinds),
            _pick(chance, ROLES),
            _draw_duration(chance),
            chance.below(1_000_000),
        )
        for number, at_ms in enumerate(times)
    )


def _with_disk_loss(seed: int, mishaps: tuple[Mishap, ...]) -> tuple[Mishap, ...]:
    """Returns the mishaps in the order of their times, with the loss of a disk if the seed has one.

    It is drawn apart and has the last number: what else happens in a trial does not depend on it.
    """
    chance = SeededChance(seed + 4)
    if chance.below(DISK_LOSS_ONE_IN):
        return mishaps
    loss = Mishap(
        len(mishaps),
        LOAD_MS - 1_000 - chance.below(_pick(chance, (LAST_MS, LOAD_MS - 6_000))),
        chance.below(60),
        _pick(chance, DISK_LOSSES),
        _pick(chance, ROLES),
        _draw_duration(chance),
        chance.below(1_000_000),
    )
    return tuple(sorted((*mishaps, loss), key=lambda mishap: mishap.at_ms))


def _draw_duration(chance: Chance) -> int:
    """Mostly short, now and then longer than any session."""
    low, high = _pick(chance, ((50, 400), (400, 3_000), (400, 3_000), (3_000, 12_000), (12_000, 25_000)))
    return low + chance.below(high - low)


def _pick(chance: Chance, choices: Sequence[T]) -> T:
    return choices[chance.below(len(choices))]
