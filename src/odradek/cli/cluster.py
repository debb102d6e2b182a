"""`odradek cluster`: the state of a whole cluster and what is wrong with it; and elections of leaders.

The commands that move replicas are in `reassign` and `drain`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, OdradekError
from odradek.base.ids import NO_BROKER, TopicPartition
from odradek.cli.cluster_wait import WAIT_S, wait_until_well
from odradek.cli.command_line import (
    JSON,
    Command,
    Group,
    Options,
    UsageError,
    flag,
    option,
    positional,
    seconds,
)
from odradek.cli.connecting import CONNECTION, client_config
from odradek.cli.describe import ask_admin
from odradek.cli.drain import COMMAND as DRAIN
from odradek.cli.move_plan import numbered
from odradek.cli.output import Column, colour_of_leader, merged, plain, say, say_json, sentences, show, spans
from odradek.cli.partition_names import partitions_named, read_partition_word
from odradek.cli.patient_admin import patient_admin
from odradek.cli.reassign import COMMAND as REASSIGN
from odradek.cli.watching import WATCH, watched
from odradek.client.administering import Admin
from odradek.client.cluster_state import ClusterBroker, ClusterPartition, ClusterState, Trouble
from odradek.client.core.admin.cluster import Elected, Election, elect_leaders
from odradek.client.core.admin.cluster_states import (
    adding_replicas,
    await_other_leaders,
    cluster_state,
    partition_states,
)

HEALTHY = "All replicas are in sync, and all partitions are led by their preferred leader."
HEALTHY_APART_FROM = (
    "Apart from those, all replicas are in sync, and all partitions are led by their preferred leader."
)
NO_CONTROLLER = "The broker that answers knows no controller: no leader is elected, and nothing is created."
_WORDS = {
    Trouble.OFFLINE: "offline",
    Trouble.UNDER_MIN_ISR: "under min ISR",
    Trouble.AT_MIN_ISR: "at min ISR",
    Trouble.UNDER_REPLICATED: "under-replicated",
    Trouble.NOT_PREFERRED: "not led by their preferred leader",
}
"""What is said of a number of partitions."""


def colour_of_trouble(value: object) -> str:
    """Red where something cannot be done, yellow where a replica is missing."""
    worst = value[0] if isinstance(value, list) and value else ""
    if worst in (Trouble.OFFLINE.value, Trouble.UNDER_MIN_ISR.value):
        return "red"
    return "" if worst in ("", Trouble.NOT_PREFERRED.value) else "yellow"


def _led_by(value: object) -> str:
    return "none" if value in (None, NO_BROKER) else str(value)


def _colour_of_role(value: object) -> str:
    return "red" if value == "offline" else ""


BROKER_COLUMNS = (
    Column("broker"),
    Column("address"),
    Column("rack"),
    Column("role", lambda value: "" if value is None else plain(value), colour=_colour_of_role),
    Column("leads"),
    Column("replicas"),
    Column("not_in_sync", colour=lambda value: "yellow" if value else ""),
)
TROUBLE_COLUMNS = (
    Column("topic"),
    Column("partition", spans),
    Column("leader", _led_by, colour=colour_of_leader),
    Column("replicas"),
    Column("in_sync"),
    Column("missing", sentences),
    Column("eligible", title="may lead"),
    Column("troubles", title="state", colour=colour_of_trouble),
    Column("reasons", sentences, title="why"),
)
ELECTED_COLUMNS = (
    Column("topic"),
    Column("partition", spans),
    Column("leader_before", _led_by, title="before", colour=colour_of_leader),
    Column("leader", _led_by, colour=colour_of_leader),
    Column("result"),
)


# --- describe


def describe(options: Options) -> None:
    """Show the cluster, repeatedly with --watch, or with --wait when nothing is ill any more."""
    if options.wait is not None and options.watch is not None:
        raise UsageError("only one of --wait and --watch can be given")
    watched(options.watch, lambda: _describe_once(options))


def _describe_once(options: Options) -> None:
    config = client_config(options)
    if options.wait is None:
        with patient_admin(config) as admin:
            state = admin.carry_out(cluster_state())
            state = state.with_adding(admin.carry_out(adding_replicas(state)))
        _show(options, state)
        return
    look = wait_until_well(config, options.wait)
    if look.state is not None:
        _show(options, look.state, look.ills)
    if look.ills:
        raise OdradekError(f"after {options.wait:g} s: {'; '.join(look.ills)}")


def _show(options: Options, state: ClusterState, waits_for: Sequence[str] | None = None) -> None:
    """Show the cluster; `waits_for` is what --wait has found to be ill, None without it."""
    reasons = _reasons(chain.from_iterable(options.admin)) if state.troubled else {}
    if options.json:
        waited = {} if waits_for is None else {"waits_for": list(waits_for)}
        say_json(_document(state, reasons) | waited, indent=2)
        return
    partitions = numbered(len(state.partitions), "partition")
    say(
        f"Cluster {state.cluster_id}: {numbered(len(state.brokers), 'broker')},"
        f" {numbered(state.topics, 'topic')} with {partitions}."
    )
    say("")
    brokers = [one | {"not_in_sync": one["not_in_sync"] or None} for one in _broker_rows(state)]
    show(brokers, BROKER_COLUMNS, as_json=False, empty="")
    say("")
    if state.controller_id == NO_BROKER:
        say(NO_CONTROLLER)
    if not state.troubled:
        if not state.partitions:
            say("There are no partitions.")
        elif not waits_for and state.controller_id != NO_BROKER:
            _say_that_it_is_healthy(state)
        return
    counted_words = [f"{count:,} {_WORDS[one]}" for one, count in state.counts.items() if count]
    say(f"Of {partitions}, {', '.join(counted_words)}.")
    say("")
    rows = [_readable(_partition(one, reasons)) for one in state.troubled]
    show(merged(rows, TROUBLE_COLUMNS, "partition"), TROUBLE_COLUMNS, as_json=False, empty="")


def _say_that_it_is_healthy(state: ClusterState) -> None:
    moving = sum(not set(one.adding).issubset(one.isr) for one in state.partitions)
    if moving:
        say(f"Moves under way add replicas to {numbered(moving, 'partition')}.")
    say(HEALTHY_APART_FROM if moving else HEALTHY)


def _role(broker: ClusterBroker | None, state: ClusterState) -> str | None:
    if broker is None:
        return "offline"
    return "controller" if broker.broker_id == state.controller_id else None


def _broker_rows(state: ClusterState) -> list[dict[str, Any]]:
    """The brokers that are registered, and those that replicas are assigned to: these have no address."""
    leads = Counter(one.leader for one in state.partitions)
    replicas = Counter(chain.from_iterable(one.replicas for one in state.partitions))
    missing = Counter(chain.from_iterable(one.missing for one in state.partitions))
    known = {one.broker_id: one for one in state.brokers}
    rows = []
    for broker_id in sorted({*known, *replicas}):
        broker = known.get(broker_id)
        rows.append(
            {
                "broker": broker_id,
                "address": broker and broker.address,
                "rack": broker and broker.rack,
                "role": _role(broker, state),
                "leads": leads[broker_id],
                "replicas": replicas[broker_id],
                "not_in_sync": missing[broker_id],
            }
        )
    return rows


def _document(state: ClusterState, reasons: Mapping[TopicPartition, Sequence[str]]) -> dict[str, Any]:
    return {
        "cluster_id": state.cluster_id,
        "controller": None if state.controller_id == NO_BROKER else state.controller_id,
        "brokers": _broker_rows(state),
        "topics": state.topics,
        "partitions": len(state.partitions),
        "counts": {trouble.name.lower(): count for trouble, count in state.counts.items()},
        "in_trouble": [_partition(one, reasons) for one in state.troubled],
    }


def _partition(one: ClusterPartition, reasons: Mapping[TopicPartition, Sequence[str]]) -> dict[str, Any]:
    return {
        "topic": one.topic_partition.topic,
        "partition": one.topic_partition.partition,
        "leader": None if one.leader == NO_BROKER else one.leader,
        "leader_epoch": one.leader_epoch,
        "replicas": list(one.replicas),
        "in_sync": list(one.isr),
        "adding": list(one.adding),
        "missing": [{"broker": missing, "offline": missing in one.offline} for missing in one.missing],
        "elr": list(one.elr),
        "last_known_leader": None if one.last_known_leader == NO_BROKER else one.last_known_leader,
        "min_isr": one.min_isr,
        "troubles": [trouble.value for trouble in one.troubles],
        "reasons": list(reasons.get(one.topic_partition, ())),
    }


def _readable(row: dict[str, Any]) -> dict[str, Any]:
    """A row of JSON as a row of the table: missing replicas in words, empty lists as None."""
    missing = [f"{one['broker']} {'offline' if one['offline'] else 'behind'}" for one in row["missing"]]
    eligible = None
    if row["leader"] is None:  # who may lead without a loss once it is back
        eligible = sorted({*row["in_sync"], *row["elr"]}) or None
    return row | {
        "leader": NO_BROKER if row["leader"] is None else row["leader"],
        "missing": missing or None,
        "eligible": eligible,
        "reasons": row["reasons"] or None,
    }


def admin_listeners(text: str) -> list[str]:
    """The addresses of admin listeners: host:port,... Raises ValueError."""
    addresses = [one.strip() for one in text.split(",")]
    if not all(one.rpartition(":")[0] and one.rpartition(":")[2].isdigit() for one in addresses):
        raise ValueError("HOST:PORT[,...], with the ports of serve --admin-port")
    return addresses


def _reasons(addresses: Iterable[str]) -> dict[TopicPartition, list[str]]:
    """What the brokers with these admin listeners say about the partitions in trouble.

    A listener that does not answer is named on the error output: its broker may be the one that is offline.
    """
    found: dict[TopicPartition, list[str]] = {}
    for address in dict.fromkeys(addresses):
        try:
            answer = ask_admin(address, "replicas", {"under-replicated": "true"})
        except UsageError:
            raise
        except OdradekError as error:
            say(f"odradek: {error}", as_error=True)
            continue
        for row in answer["replicas"]:
            said = found.setdefault(TopicPartition(row["topic"], row["partition"]), [])
            who = f"broker {answer['broker_id']}"
            said += [f"{who}: {reason}" for reason in row.get("behind", ())]
    return found


# --- elect


def elect(options: Options) -> None:
    """Elect leaders, and show what moved."""
    if options.execute and not options.unclean:
        raise UsageError("--execute needs --unclean: preferred leaders lose nothing, and are elected at once")
    election = Election.UNCLEAN if options.unclean else Election.PREFERRED
    with patient_admin(client_config(options)) as admin:
        known = _named(admin, options.partitions)
        before = {one.topic_partition: one.leader for one in known}
        if options.unclean and not options.execute:
            _show_unclean(options, known)
            return
        results = admin.carry_out(elect_leaders(election, list(before) if options.partitions else None))
        moved = [one.topic_partition for one in results if one.code is ErrorCode.NONE]
        leaders = before | admin.carry_out(await_other_leaders(moved, before))
    results = [one for one in results if options.partitions or one.code is not ErrorCode.ELECTION_NOT_NEEDED]
    rows = [
        {
            "topic": one.topic_partition.topic,
            "partition": one.topic_partition.partition,
            "leader_before": before.get(one.topic_partition, NO_BROKER),
            "leader": leaders.get(one.topic_partition, NO_BROKER),
            "result": _result(one, election),
        }
        for one in results
    ]
    shown = rows if options.json else merged(rows, ELECTED_COLUMNS, "partition")
    show(shown, ELECTED_COLUMNS, as_json=options.json, empty="No partition needs an election.")
    failed = [one for one in results if one.code not in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)]
    if failed:
        raise ApiError(failed[0].code, f"no leader was elected for {numbered(len(failed), 'partition')}")


def _named(admin: Admin, words: Sequence[str]) -> list[ClusterPartition]:
    """The partitions that the words name, or all. Raises UsageError, and ApiError for one that is unknown."""
    known, _ = admin.carry_out(partition_states([read_partition_word(word)[0] for word in words]))
    return partitions_named(known, words)


def _show_unclean(options: Options, known: Sequence[ClusterPartition]) -> None:
    """Show the partitions without a leader: only these have something to lose."""
    rows = [_readable(_partition(one, {})) for one in known if Trouble.OFFLINE in one.troubles]
    show(rows, TROUBLE_COLUMNS, as_json=options.json, empty="No partition needs an election.")
    if rows:
        say(
            "Nothing was changed: add --execute to do it. Records that only missing replicas have are lost.",
            as_error=True,
        )


def _result(one: Elected, election: Election) -> str:
    if one.code is ErrorCode.NONE:
        return "elected"
    if one.code is ErrorCode.ELECTION_NOT_NEEDED:
        is_preferred = election is Election.PREFERRED
        return "led by its preferred leader already" if is_preferred else "has a leader"
    return one.message


GROUP = Group(
    "cluster",
    "Show what is wrong with a cluster, elect leaders, and move replicas.",
    (
        Command(
            "describe",
            "Show the brokers, and the partitions that are in trouble.",
            describe,
            (
                option(
                    "--admin",
                    help="admin listeners of brokers, to be asked why replicas are behind",
                    metavar="HOST:PORT[,...]",
                    kind=admin_listeners,
                    many=True,
                    variable="ODRADEK_ADMIN",
                ),
                option(
                    "--wait",
                    help="first wait until all brokers answer and all replicas are in sync; fail after"
                    f" SECONDS, or {WAIT_S:g} s",
                    metavar="[SECONDS]",
                    kind=seconds,
                    implied=f"{WAIT_S:g}",
                ),
                WATCH,
                JSON,
                *CONNECTION,
            ),
            details="The broker that answers says what it knows of the whole cluster, by Kafka's protocol."
            " The partitions in trouble are those without a leader (offline), with fewer in-sync replicas"
            " than min.insync.replicas (acks=all is refused), with just as many after the loss of a replica,"
            " with any replica missing from the in-sync ones (under-replicated), and those that another"
            " broker leads than the preferred one, which could.",
            examples=("odradek cluster describe --watch 5", "odradek cluster describe --wait 120"),
        ),
        Command(
            "elect",
            "Give partitions their preferred leader, or with --unclean any that is left.",
            elect,
            (
                positional(
                    "partitions",
                    "all partitions of a topic, or one; without it all of the cluster",
                    metavar="TOPIC[:PARTITION]",
                    many=True,
                    required=False,
                    completes="topic",
                ),
                flag(
                    "--unclean", help="elect any live replica where no in-sync one lives: records may be lost"
                ),
                flag("--execute", help="with --unclean: do it; without it only show what would be done"),
                JSON,
                *CONNECTION,
            ),
            details="A preferred leader is the first replica of a partition. It is elected only if it is in"
            " sync, so nothing is lost.",
            examples=(
                "odradek cluster elect flights",
                "odradek cluster elect --unclean flights:0 --execute",
            ),
        ),
        REASSIGN,
        DRAIN,
    ),
)
