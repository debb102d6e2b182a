"""Faults that a test sets on one broker: rules by which requests are refused, delayed or cut off.

This file has only the rules and their counts; `interposed` makes the refusals of each API.

    add(error, api=Produce, client=c, code=NOT_LEADER_OR_FOLLOWER, times=2)
    meet(Produce, "c", {"t"})     -> that rule; one time is left
    meet(Produce, "other", ...)   -> nothing: another client
    meet(Produce, "c", {"t"})     -> that rule; it is used up, and stays in the list with its two hits
    meet(Produce, "c", {"t"})     -> nothing

A rule applies to requests of clients, or to those of other brokers, which come through another dispatcher.

Invariant: a rule with `times` applies to that many requests; no rule applies to the test's own helpers.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from odradek.base.error_codes import ErrorCode

HELPERS_CLIENT_ID: Final = "__odradek_test_helper"
"""The client id of the tests' own clients, which inspect a broker while rules hold for all other clients.

No other client has it by chance; `odradek`, the client id of the command line, is a client like any other.
"""
RULES_MAX: Final = 1000
DELAY_MS_MAX: Final = 3_600_000


class Kind(StrEnum):
    """What a rule does."""

    ERROR = "error"
    """The request is not carried out; its answer is the API's own refusal."""
    DELAY = "delay"
    """The answer is sent later."""
    DROP = "drop"
    """The connection is closed."""
    REFUSE_CONNECTIONS = "refuse_connections"
    """New connections are closed at once."""
    FULL_DISK = "full_disk"
    """Writes that need room are refused by the disk."""
    SLOW_DISK = "slow_disk"
    """Writes and syncs take longer."""
    ISOLATE = "isolate"
    """What goes between this broker and others, or its metadata store, is held back."""


OF_REQUESTS: Final = frozenset({Kind.ERROR, Kind.DELAY, Kind.DROP})
"""The kinds that concern single requests."""


class Asker(StrEnum):
    """Whose requests a rule applies to."""

    CLIENTS = "clients"
    BROKERS = "brokers"


class Side(StrEnum):
    """From whom a broker is isolated."""

    BROKERS = "brokers"
    """The other brokers: their requests and answers, and its own."""
    STORE = "store"
    """The metadata store."""


class Way(StrEnum):
    """In which direction nothing goes through, as seen from the broker."""

    IN = "in"
    OUT = "out"


class DropWhen(StrEnum):
    """When a rule closes the connection."""

    BEFORE_REQUEST = "before_request"
    """The request is not carried out."""
    BEFORE_ANSWER = "before_answer"
    """The request is carried out, but its client gets no answer."""
    AFTER_ANSWER = "after_answer"
    """The answer is sent, and then the connection is closed."""


@dataclass(slots=True)
class Rule:
    """One fault. The filters that are None match everything."""

    number: int
    """The id by which a rule is removed; never used again."""
    kind: Kind
    api_key: int | None = None
    client: str | None = None
    """The client id."""
    topic: str | None = None
    code: ErrorCode = ErrorCode.NONE
    """For an ERROR: the error code."""
    delay_ms: int = 0
    """For a DELAY or SLOW_DISK: the delay."""
    when: DropWhen = DropWhen.BEFORE_ANSWER
    """For a DROP: when the connection is closed."""
    times_left: int | None = None
    """To how many more requests it applies; None: to all until it is removed."""
    hits: int = 0
    """To how many requests or connections it has been applied."""
    sides: frozenset[Side] = frozenset()
    """For an ISOLATE: from whom."""
    ways: frozenset[Way] = frozenset()
    """For an ISOLATE: in which directions."""
    directory: str | None = None
    """For a FULL_DISK: the only log directory that is full; None: all are."""
    asker: Asker = Asker.CLIENTS
    """For an ERROR, DELAY or DROP: whose requests."""

    def matches(
        self, api_key: int, client: str | None, topics: Collection[str], asker: Asker = Asker.CLIENTS
    ) -> bool:
        """Whether the rule applies to a request that names these topics, and is not used up."""
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
        """Count one more hit."""
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
        """Returns the number for a new rule."""
        self._last_number += 1
        return self._last_number

    def add(self, rule: Rule) -> None:
        """Add a rule after the existing rules."""
        assert len(self._rules) < RULES_MAX, "the caller that adds a rule checks their number"
        self._rules[rule.number] = rule

    def remove(self, number: int) -> bool:
        """Remove a rule. Returns False if there is no rule with that number."""
        return self._rules.pop(number, None) is not None

    def clear(self) -> None:
        """Remove all rules."""
        self._rules.clear()

    def meet(
        self, api_key: int, client: str | None, topics: Collection[str], asker: Asker = Asker.CLIENTS
    ) -> list[Rule]:
        """Returns the rules for a request: every matching delay, and the first other matching rule.

        Does not count them as hits.
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
        """Whether there is a rule for requests of `asker`."""
        return any(rule.kind in OF_REQUESTS and rule.asker is asker for rule in self._rules.values())

    def of(self, *kinds: Kind) -> list[Rule]:
        """Returns the rules of these kinds."""
        return [rule for rule in self._rules.values() if rule.kind in kinds]
