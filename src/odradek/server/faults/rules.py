"""Faults that a test sets on one broker: rules by which requests are refused, delayed or cut off.

This file knows rules and counts; what a refusal looks like is the API's own matter (`interposed`).

    add(error, api=Produce, client=c, code=NOT_LEADER_OR_FOLLOWER, times=2)
    meet(Produce, "c", {"t"})     -> that rule; one time is left
    meet(Produce, "other", ...)   -> nothing: another client
    meet(Produce, "c", {"t"})     -> that rule; it is spent, and stays in the list with its two hits
    meet(Produce, "c", {"t"})     -> nothing

A rule is for requests of clients, or for those of the other brokers, which come through another dispatcher.

Invariant: a rule with `times` meets that many requests; requests of the test's own helpers meet none.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from odradek.base.error_codes import ErrorCode

HELPERS_CLIENT_ID: Final = "odradek"
"""The client id of our own clients, with which tests look at a broker while rules hold for others."""
RULES_MAX: Final = 1000
DELAY_MS_MAX: Final = 3_600_000


class Kind(StrEnum):
    """What a rule does."""

    ERROR = "error"
    """The request is not carried out; its answer is the API's own refusal."""
    DELAY = "delay"
    """The answer leaves later."""
    DROP = "drop"
    """The connection is closed."""
    REFUSE_CONNECTIONS = "refuse_connections"
    """New connections are closed at once."""
    FULL_DISK = "full_disk"
    """Writes that need room are refused by the disk."""
    SLOW_DISK = "slow_disk"
    """Writes and syncs take longer."""


OF_REQUESTS: Final = frozenset({Kind.ERROR, Kind.DELAY, Kind.DROP})
"""The kinds that concern single requests."""


class Asker(StrEnum):
    """Whose requests a rule is for."""

    CLIENTS = "clients"
    BROKERS = "brokers"


class DropWhen(StrEnum):
    """When a connection is closed."""

    BEFORE_REQUEST = "before_request"
    """The request has no effect."""
    BEFORE_ANSWER = "before_answer"
    """The request is carried out, and its client does not know."""
    AFTER_ANSWER = "after_answer"
    """The answer leaves, and the connection is closed."""


@dataclass(slots=True)
class Rule:
    """One fault. The filters that are None match everything."""

    number: int
    """By which it is removed; never given again."""
    kind: Kind
    api_key: int | None = None
    client: str | None = None
    """The client id."""
    topic: str | None = None
    code: ErrorCode = ErrorCode.NONE
    """Of an ERROR."""
    delay_ms: int = 0
    """Of a DELAY or SLOW_DISK."""
    when: DropWhen = DropWhen.BEFORE_ANSWER
    """Of a DROP."""
    times_left: int | None = None
    """How many requests it still meets; None: all until it is removed."""
    hits: int = 0
    """How many requests or connections it has met."""
    asker: Asker = Asker.CLIENTS
    """Of an ERROR, DELAY or DROP."""

    def matches(
        self, api_key: int, client: str | None, topics: Collection[str], asker: Asker = Asker.CLIENTS
    ) -> bool:
        """Whether a request that names these topics is meant, and the rule is not spent."""
        return (
            self.kind in OF_REQUESTS
            and self.asker is asker
            and self.times_left != 0
            and self.api_key in (None, api_key)
            and self._means(client)
            and (self.topic is None or self.topic in topics)
        )

    def _means(self, client: str | None) -> bool:
        if self.client is None:
            return client != HELPERS_CLIENT_ID or self.asker is Asker.BROKERS
        return client == self.client

    def hit(self) -> None:
        """Count one more."""
        self.hits += 1
        if self.times_left is not None:
            self.times_left -= 1


class FaultRules:
    """The rules of one broker, in the order in which they were set."""

    def __init__(self) -> None:
        self._rules: dict[int, Rule] = {}
        self._last_number = 0

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules.values())

    def __len__(self) -> int:
        return len(self._rules)

    def next_number(self) -> int:
        """The number of a rule to come."""
        self._last_number += 1
        return self._last_number

    def add(self, rule: Rule) -> None:
        """Let a rule hold; it comes after those that hold already."""
        assert len(self._rules) < RULES_MAX, "the caller that adds a rule checks their number"
        self._rules[rule.number] = rule

    def remove(self, number: int) -> bool:
        """Let a rule hold no longer; False when there is none of that number."""
        return self._rules.pop(number, None) is not None

    def clear(self) -> None:
        """Let no rule hold."""
        self._rules.clear()

    def meet(
        self, api_key: int, client: str | None, topics: Collection[str], asker: Asker = Asker.CLIENTS
    ) -> list[Rule]:
        """The rules that a request meets: every delay, and the first that does something else.

        They are not counted yet.
        """
        met: list[Rule] = []
        is_decided = False
        for rule in self._rules.values():
            if rule.matches(api_key, client, topics, asker):
                if rule.kind is Kind.DELAY:
                    met.append(rule)
                elif not is_decided:
                    is_decided = True
                    met.append(rule)
        return met

    def has_any_for(self, asker: Asker) -> bool:
        """Whether there is a rule for requests of these."""
        return any(rule.kind in OF_REQUESTS and rule.asker is asker for rule in self._rules.values())

    def of(self, *kinds: Kind) -> list[Rule]:
        """The rules of some kinds."""
        return [rule for rule in self._rules.values() if rule.kind in kinds]
