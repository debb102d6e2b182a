"""Requests about faults, as JSON documents that a test sends, in its own process or over the admin listener.

    {"fault": "error", "api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "times": 3}      -> {"id": 1}
    {"fault": "drop", "api": "Produce", "when": "before_answer", "client": "orders"}         -> {"id": 2}
    {"fault": "delay", "ms": 500}                                                            -> {"id": 3}
    {"fault": "error", "api": "LeaderAndIsr", "error": "STALE_BROKER_EPOCH", "from": "brokers"}  -> {"id": 4}
    {"fault": "refuse_connections"}   {"fault": "slow_disk", "ms": 50}
    {"fault": "full_disk"}    {"fault": "full_disk", "directory": "/data"}
    {"fault": "isolate"}    {"fault": "isolate", "from": "store", "way": "in"}               -> {"id": 5}
    {"fault": "list"}    {"fault": "remove", "id": 1}    {"fault": "clear"}
    {"fault": "drop_connections"}    {"fault": "expire_member", "group": "g", "member": "consumer-1"}
    {"fault": "lose_producer_id", "producer_id": 4000}

`server.admin.move_documents` has those that move leaders and coordinators, `server.admin.wait_documents`
those that wait for groups, and `fetch_watches` those about what clients fetch.
Faults with an id hold until they are removed or used up; the others happen once. docs/testing.md has the
table. Invariant: without rules, requests go directly to their handlers.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import FaultRefused
from odradek.base.ids import TopicPartition
from odradek.server.faults.fetch_watches import FetchWatches
from odradek.server.faults.fields import Document, number_in, text_in
from odradek.server.faults.interposed import FaultyDispatch, FetchNotes, names_topics
from odradek.server.faults.rules import (
    DELAY_MS_MAX,
    OF_REQUESTS,
    RULES_MAX,
    Asker,
    DropWhen,
    FaultRules,
    Kind,
    Rule,
    Side,
    Way,
)
from odradek.server.node.node import Node
from odradek.storage.faulty_files import DiskFaults
from odradek.wire.apis import APIS
from odradek.wire.messages.fetch import FetchResponse

BOTH_WAYS: Final = "both"
_API_KEYS: Final = {api.name: key for key, api in APIS.items()}
_FILTERS: Final = frozenset({"api", "client", "topic", "times", "from"})
_FIELDS: Final = {
    Kind.ERROR: _FILTERS | {"error"},
    Kind.DELAY: _FILTERS | {"ms"},
    Kind.DROP: _FILTERS | {"when"},
    Kind.REFUSE_CONNECTIONS: frozenset(),
    Kind.FULL_DISK: frozenset({"directory"}),
    Kind.SLOW_DISK: frozenset({"ms"}),
    Kind.ISOLATE: frozenset({"from", "way"}),
}
_NAMES: Final = (
    *(str(kind) for kind in Kind),
    *("drop_connections", "expire_member", "lose_producer_id", "list", "remove", "clear"),
    *("move_leader", "move_coordinator"),
    *("wait_stable", "wait_lag_zero", "wait_position_resolved"),
    *("watch_fetches", "watched_fetches", "end_watch"),
)


@dataclass(frozen=True, slots=True)
class Reach:
    """The parts of a broker on which faults are set."""

    node: Node
    disk: DiskFaults | None
    """None if faults cannot be set on the broker's disk."""
    refuse_connections: Callable[[bool], None]
    """Called with True to close new connections at once from now on, with False to accept them again."""
    drop_connections: Callable[[], int]
    """Closes all connections. Returns how many there were."""
    bootstrap_servers: Callable[[], str] = str
    """Where clients reach the broker, as host:port."""
    cuts: Mapping[Side, Callable[[frozenset[Way]], None]] = field(default_factory=dict)
    """Called with the directions in which nothing goes through from now on; empty: everything does.

    Without those that the broker does not reach over connections."""
    has_brokers: bool = False
    """Whether other brokers send it requests; if not, no rule may be set for requests of brokers."""


class FaultRequests:
    """Carries out requests about faults, on the broker's thread."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._rules = FaultRules()
        self._watches = FetchWatches()
        node = reach.node
        self._dispatches = {
            asker: FaultyDispatch(
                self._rules,
                asker,
                node.core.timer,
                lambda topic_id: None if topic_id is None else node.core.topic_name(topic_id),
                FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
                FetchNotes(self._watches, node.core.fetch_sessions.partitions_of),
            )
            for asker in Asker
        }

    @property
    def bootstrap_servers(self) -> str:
        """Where clients reach the broker, as host:port."""
        return self._reach.bootstrap_servers()

    def carry_out(self, document: object) -> object:
        """Carry out one request and return its answer. Raises FaultRefused."""
        if not isinstance(document, dict):
            raise FaultRefused("a request about faults is a JSON object")
        name = document.get("fault")
        match name:
            case "list":
                return [_described(rule) for rule in self._rules]
            case "remove":
                found = self._rules.remove(number_in(document, "id", 1, 1 << 31))
                self._apply()
                return {"removed": found}
            case "clear":
                self._rules.clear()
                self._apply()
                return {}
            case "drop_connections":
                return {"dropped": self._reach.drop_connections()}
            case "expire_member":
                return {"expired": self._expire(text_in(document, "group"), text_in(document, "member"))}
            case "lose_producer_id":
                return {"partitions": self._lose(number_in(document, "producer_id", 0, 1 << 63))}
            case "watch_fetches":
                return {"id": self._watch_fetches()}
            case "watched_fetches":
                return self._watches.fetched(number_in(document, "id", 1, 1 << 31))
            case "end_watch":
                found = self._watches.end(number_in(document, "id", 1, 1 << 31))
                self._apply()
                return {"removed": found}
        try:
            kind = Kind(str(name))
        except ValueError:
            hint = _closest(str(name), _NAMES) or f"there are {', '.join(_NAMES)}"
            raise FaultRefused(f"there is no fault {name!r}; {hint}") from None
        return {"id": self._add(kind, document)}

    # --- rules

    def _add(self, kind: Kind, document: Document) -> int:
        unknown = sorted(document.keys() - _FIELDS[kind] - {"fault"})
        if unknown:
            raise FaultRefused(f"the fault {kind} takes no {', '.join(unknown)}")
        if len(self._rules) >= RULES_MAX:
            raise FaultRefused(f"there are {RULES_MAX} faults already")
        if kind in (Kind.FULL_DISK, Kind.SLOW_DISK) and self._reach.disk is None:
            raise FaultRefused("this broker's disk has no faults to set")
        rule = Rule(self._rules.next_number(), kind)
        if document.get("api") is not None:
            rule.api_key = _api_key(text_in(document, "api"))
        if document.get("client") is not None:
            rule.client = text_in(document, "client")
        if document.get("topic") is not None:
            rule.topic = text_in(document, "topic")
        if kind is Kind.ISOLATE:
            rule.sides, rule.ways = self._sides(document), _ways(document)
        elif "from" in document:
            rule.asker = self._asker(document)
        if document.get("times") is not None:
            rule.times_left = number_in(document, "times", 1, 1 << 31)
        if "ms" in _FIELDS[kind]:
            rule.delay_ms = number_in(document, "ms", 0, DELAY_MS_MAX)
        if document.get("directory") is not None:
            rule.directory = self._log_directory(document)
        if kind is Kind.ERROR:
            rule.code = _code(document)
            self._check_refusal(rule)
        if "when" in document:
            rule.when = _when(document)
        if rule.topic is not None and (rule.api_key is None or not names_topics(rule.api_key)):
            raise FaultRefused("a fault with a topic needs an api whose requests name topics")
        self._rules.add(rule)
        self._apply()
        return rule.number

    def _check_refusal(self, rule: Rule) -> None:
        if rule.api_key is None:
            raise FaultRefused("an error needs an api")
        handlers = self._reach.node.handlers
        served = handlers if rule.asker is Asker.CLIENTS else handlers.between_brokers()
        handler = served.get(rule.api_key)
        if handler is None or handler.refuse is None:
            raise FaultRefused(f"{APIS[rule.api_key].name} has no answer that could hold an error")

    def _sides(self, document: Document) -> frozenset[Side]:
        """From whom a broker is isolated; by default from all whom it reaches over connections."""
        there = self._reach.cuts
        if document.get("from") is None:
            if not there:
                raise FaultRefused(
                    "this broker is the only one of its cluster: there is nobody to isolate it from"
                )
            return frozenset(there)
        try:
            side = Side(text_in(document, "from"))
        except ValueError:
            raise FaultRefused(f"from is one of {', '.join(Side)}, not {document['from']!r}") from None
        if side not in there:
            reason = (
                "it is the only broker of its cluster"
                if side is Side.BROKERS
                else "this process does not reach it over a connection that can be cut"
            )
            raise FaultRefused(f"this broker cannot be isolated from the {side}: {reason}")
        return frozenset({side})

    def _log_directory(self, document: Document) -> str:
        directory = text_in(document, "directory")
        known = self._reach.node.core.settings.log_dirs
        if directory not in known:
            raise FaultRefused(f"{directory} is no log directory of this broker: it has {', '.join(known)}")
        return directory

    def _asker(self, document: Document) -> Asker:
        try:
            asker = Asker(text_in(document, "from"))
        except ValueError:
            raise FaultRefused(f"from is one of {', '.join(Asker)}, not {document['from']!r}") from None
        if asker is Asker.BROKERS and not self._reach.has_brokers:
            raise FaultRefused(
                "no other broker sends requests to this one: it is the only broker of its cluster"
            )
        return asker

    def _apply(self) -> None:
        """Apply the rules to the dispatchers, listeners and disk."""
        reach, rules = self._reach, self._rules
        node = reach.node
        for asker, requests in ((Asker.CLIENTS, node.requests), (Asker.BROKERS, node.peer_requests)):
            is_needed = rules.has_any_for(asker) or (asker is Asker.CLIENTS and len(self._watches) > 0)
            requests.interposed = self._dispatches[asker] if is_needed else None
        reach.refuse_connections(bool(rules.of(Kind.REFUSE_CONNECTIONS)))
        cuts = rules.of(Kind.ISOLATE)
        for side, hold in reach.cuts.items():
            hold(frozenset(way for rule in cuts if side in rule.sides for way in rule.ways))
        if reach.disk is not None:
            full = {rule.directory for rule in rules.of(Kind.FULL_DISK)}
            reach.disk.is_full = None in full
            reach.disk.full_directories = frozenset(one for one in full if one is not None)
            reach.disk.delay_ms = sum(rule.delay_ms for rule in rules.of(Kind.SLOW_DISK))

    # --- watches

    def _watch_fetches(self) -> int:
        """Begin a watch, and answer the fetches that wait: what their clients send next is noted."""
        number = self._watches.begin()
        self._apply()
        waiting = self._reach.node.core.replicas.purgatories.fetch.watchers().values()
        for operation in {id(one): one for operations in waiting for one in operations}.values():
            operation.force_complete()
        return number

    def leads(self, partition: TopicPartition) -> bool:
        """Whether the broker leads a partition, as far as it knows."""
        core = self._reach.node.core
        found = core.image.partition(partition)
        return found is not None and found.leader == core.broker_id

    # --- faults that happen once

    def _expire(self, group: str, member: str) -> list[str]:
        """End the sessions of the members with that id, instance id or client id."""
        core = self._reach.node.core
        described = next((one for one in core.groups.describe() if one["group"] == group), None)
        if described is None:
            raise FaultRefused(f"there is no group {group}")
        ids = [
            str(one["member"])
            for one in described["members"]
            if member in (one["member"], one["instance"], one["client"])
        ]
        if not ids:
            raise FaultRefused(f"group {group} has no member {member}")
        expired = [one for one in ids if core.groups.expire_member(group, one)]
        if not expired:
            raise FaultRefused(f"member {member} waits for a rebalance, in which sessions do not end")
        return expired

    def _lose(self, producer_id: int) -> list[str]:
        """Remove a producer from every log, as if its id had expired."""
        logs = self._reach.node.core.logs.logs()
        return sorted(str(log.topic_partition) for log in logs if log.forget_producer(producer_id))


def _described(rule: Rule) -> Mapping[str, object]:
    described: dict[str, object] = {"id": rule.number, "fault": str(rule.kind)}
    given: Mapping[str, object] = {
        "api": None if rule.api_key is None else APIS[rule.api_key].name,
        "client": rule.client,
        "topic": rule.topic,
        "error": rule.code.name if rule.kind is Kind.ERROR else None,
        "ms": rule.delay_ms if rule.kind in (Kind.DELAY, Kind.SLOW_DISK) else None,
        "when": str(rule.when) if rule.kind is Kind.DROP else None,
        "times_left": rule.times_left,
        "directory": rule.directory,
        "from": _from(rule),
        "way": next(iter(rule.ways)) if len(rule.ways) == 1 else None,
    }
    described |= {name: value for name, value in given.items() if value is not None}
    if rule.kind in OF_REQUESTS:
        described["hits"] = rule.hits
    return described


def _from(rule: Rule) -> str | None:
    """What `from` says of a rule; None where that is what holds without it."""
    if rule.kind is Kind.ISOLATE:
        return str(next(iter(rule.sides))) if len(rule.sides) == 1 else None
    return None if rule.asker is Asker.CLIENTS else str(rule.asker)


def _ways(document: Document) -> frozenset[Way]:
    """In which directions; both if the document does not say."""
    way = document.get("way")
    if way in (None, BOTH_WAYS):
        return frozenset(Way)
    try:
        return frozenset({Way(text_in(document, "way"))})
    except ValueError:
        raise FaultRefused(f"way is one of {', '.join((*Way, BOTH_WAYS))}, not {way!r}") from None


def _api_key(name: str) -> int:
    key = _API_KEYS.get(name)
    if key is None:
        hint = (
            _closest(name, _API_KEYS) or "names are those of the protocol, such as Produce, Fetch, JoinGroup"
        )
        raise FaultRefused(f"there is no api {name!r}; {hint}")
    return key


def _code(document: Document) -> ErrorCode:
    name = text_in(document, "error")
    try:
        code = ErrorCode[name]
    except KeyError:
        hint = (
            _closest(name, ErrorCode.__members__)
            or "names are those of the protocol, such as NOT_LEADER_OR_FOLLOWER"
        )
        raise FaultRefused(f"there is no error {name!r}; {hint}") from None
    if code is ErrorCode.NONE:
        raise FaultRefused("NONE is not an error")
    return code


def _closest(name: str, names: Iterable[str]) -> str:
    """Returns a question that suggests the most similar name, ignoring case; "" if none is similar."""
    by_small = {one.lower(): one for one in names}
    found = get_close_matches(name.lower(), by_small, n=1)
    return f"did you mean {by_small[found[0]]}?" if found else ""


def _when(document: Document) -> DropWhen:
    try:
        return DropWhen(text_in(document, "when"))
    except ValueError:
        choices = ", ".join(DropWhen)
        raise FaultRefused(f"when is one of {choices}, not {document['when']!r}") from None
