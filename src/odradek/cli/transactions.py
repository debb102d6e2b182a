"""`odradek transactions`: lists transactional ids, and finds and ends open transactions (KIP-664)."""

import time

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.cli.command_line import (
    JSON,
    Argument,
    Command,
    Group,
    Options,
    UsageError,
    flag,
    number,
    option,
    positional,
)
from odradek.cli.connecting import CONNECTION, answering_within, client_config, raise_if_missing
from odradek.cli.names import FILTER, matching, none_of
from odradek.cli.output import Column, colour_of_state, counted, say, show, timed
from odradek.cli.patient_admin import patient_admin
from odradek.client.administering import Admin
from odradek.client.core.admin.cluster import broker_ids
from odradek.client.core.admin.open_transactions import (
    find_hanging,
    holder_of,
    open_transaction_at,
    producers_of,
)
from odradek.client.core.admin.transactions import (
    PartitionProducer,
    abort_transaction,
    describe_transaction,
    fence_producer,
    list_transactions_there,
)

MINUTE_MS = 60_000
OPEN_MAX_MINUTES = 15
INT32_MAX = (1 << 31) - 1

COLUMNS = (
    Column("transactional_id"),
    Column("state", colour=colour_of_state),
    Column("producer_id"),
    Column("producer_epoch"),
    Column("timeout_ms", counted, title="timeout ms"),
    Column("started_ms", timed, title="started"),
    Column("partitions"),
)
PRODUCER_COLUMNS = (
    Column("producer_id"),
    Column("producer_epoch"),
    Column("coordinator_epoch"),
    Column("last_sequence"),
    Column("last_timestamp_ms", timed, title="last timestamp"),
    Column("start_offset", counted, always=True, title="transaction starts at"),
)
HANGING_COLUMNS = (
    Column("topic"),
    Column("partition"),
    Column("producer_id"),
    Column("producer_epoch"),
    Column("coordinator_epoch"),
    Column("start_offset", counted),
    Column("last_timestamp_ms", timed, title="last timestamp"),
    Column("open_minutes", counted, title="minutes"),
)


def list_transactions(options: Options) -> None:
    """List the transactional ids."""
    with patient_admin(answering_within(client_config(options))) as admin:
        found, missing = admin.carry_out(list_transactions_there())
    rows = [
        {"transactional_id": one.transactional_id, "producer_id": one.producer_id, "state": one.state}
        for one in found
        if options.state is None or one.state.lower() == options.state.lower()
    ]
    rows = matching(rows, options.filter, "transactional_id")
    empty = none_of("transactional ids", options.filter, options.state, is_complete=not missing)
    show(rows, COLUMNS, as_json=options.json, empty=empty)
    raise_if_missing(missing)


def describe(options: Options) -> None:
    """Show one transactional id."""
    with patient_admin(client_config(options)) as admin:
        found = admin.carry_out(describe_transaction(options.name))
    row = {
        "transactional_id": found.transactional_id,
        "state": found.state,
        "producer_id": found.producer_id,
        "producer_epoch": found.producer_epoch,
        "timeout_ms": found.timeout_ms,
        "started_ms": found.started_ms,
        "partitions": [str(partition) for partition in found.partitions],
    }
    show([row], COLUMNS, as_json=options.json, empty="")


def force_terminate(options: Options) -> None:
    """Fence a transactional id's producer and abort its open transaction."""
    with patient_admin(client_config(options)) as admin:
        admin.carry_out(fence_producer(options.name))
    say(f"Fenced the producer of {options.name}; it has no open transaction.")


def describe_producers(options: Options) -> None:
    """Show the producers of one partition."""
    with patient_admin(client_config(options)) as admin:
        found = admin.carry_out(producers_of(_partitions(admin, options)))
    rows = [_row(one) for one in found]
    empty = f"{options.topic}-{options.partition} has no idempotent or transactional producers."
    show(rows, PRODUCER_COLUMNS, as_json=options.json, empty=empty)


def hanging(options: Options) -> None:
    """Show the transactions that no coordinator will end."""
    if options.topic is None and options.broker_id is None:
        raise UsageError("odradek transactions find-hanging needs --topic TOPIC, or --broker-id ID")
    if options.topic is None and options.partition is not None:
        raise UsageError("--partition needs --topic TOPIC")
    now_ms = int(time.time() * 1000)
    with patient_admin(client_config(options)) as admin:
        if options.broker_id is not None and options.broker_id not in admin.carry_out(broker_ids()):
            raise ApiError(ErrorCode.BROKER_NOT_AVAILABLE, f"there is no broker {options.broker_id}")
        before_ms = now_ms - options.max_transaction_timeout * MINUTE_MS
        partitions = _partitions(admin, options, options.broker_id)
        found = admin.carry_out(find_hanging(partitions, before_ms=before_ms))
    rows = [_row(one) | {"open_minutes": (now_ms - one.last_timestamp_ms) // MINUTE_MS} for one in found]
    show(rows, HANGING_COLUMNS, as_json=options.json, empty="There are no hanging transactions.")


def abort(options: Options) -> None:
    """End a hanging transaction in one partition."""
    with patient_admin(client_config(options)) as admin:
        (partition,) = _partitions(admin, options)
        found = admin.carry_out(open_transaction_at(partition, options.start_offset))
        if not options.force:
            _refuse_held(admin, found)
        admin.carry_out(abort_transaction(found))
    say(
        f"Aborted the transaction of producer {found.producer_id}, epoch {found.producer_epoch},"
        f" that started at offset {options.start_offset:,} of {partition}."
    )


def _refuse_held(admin: Admin, producer: PartitionProducer) -> None:
    """Raises ApiError for a transaction that a coordinator will end."""
    holder = admin.carry_out(holder_of(producer))
    if holder is not None:
        name = holder.transactional_id
        raise ApiError(
            ErrorCode.INVALID_TXN_STATE,
            f"this transaction does not hang: its transactional id {name} is {holder.state};"
            f" 'odradek transactions force-terminate' ends it everywhere, --force only in"
            f" {producer.partition}",
        )


def _partitions(admin: Admin, options: Options, leader: int | None = None) -> list[TopicPartition]:
    """The partitions that --topic and --partition name, or all, which the broker `leader` leads.

    Raises ApiError for a topic or partition that does not exist.
    """
    from odradek.client.core.admin.topics import describe_topics

    topics = admin.carry_out(describe_topics(None if options.topic is None else [options.topic]))
    found = [
        TopicPartition(topic.name, one.partition)
        for topic in topics
        for one in topic.partitions
        if options.partition in (None, one.partition) and leader in (None, one.leader)
    ]
    if options.partition is not None and options.partition >= len(topics[0].partitions):
        raise ApiError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"there is no partition {options.partition} of topic {options.topic}:"
            f" it has {len(topics[0].partitions)}",
        )
    return found


def _row(one: PartitionProducer) -> dict[str, object]:
    return {
        "topic": one.partition.topic,
        "partition": one.partition.partition,
        "producer_id": one.producer_id,
        "producer_epoch": one.producer_epoch,
        "coordinator_epoch": None if one.coordinator_epoch < 0 else one.coordinator_epoch,
        "last_sequence": one.last_sequence,
        "last_timestamp_ms": one.last_timestamp_ms,
        "start_offset": one.start_offset,
    }


def _topic(text: str, *, required: bool) -> Argument:
    return option("--topic", help=text, metavar="TOPIC", required=required, completes="topic")


def _partition(text: str, *, required: bool) -> Argument:
    return option("--partition", help=text, metavar="N", kind=number(0, INT32_MAX), required=required)


ID = positional("name", "the transactional id", metavar="TRANSACTIONAL_ID")
GROUP = Group(
    "transactions",
    "Show transactions, find those that hang, and end them.",
    (
        Command(
            "list",
            "List the transactional ids with their states.",
            list_transactions,
            (
                option("--state", help="only those in this state, such as Ongoing", metavar="STATE"),
                FILTER,
                JSON,
                *CONNECTION,
            ),
        ),
        Command(
            "describe",
            "Show a transactional id's producer and the partitions of its open transaction.",
            describe,
            (ID, JSON, *CONNECTION),
        ),
        Command(
            "describe-producers",
            "Show the idempotent and transactional producers of a partition.",
            describe_producers,
            (
                _topic("the topic", required=True),
                _partition("its partition", required=True),
                JSON,
                *CONNECTION,
            ),
        ),
        Command(
            "find-hanging",
            "Find transactions that are open in a partition and unknown to every coordinator.",
            hanging,
            (
                _topic("search this topic", required=False),
                _partition("search only this partition of the topic", required=False),
                option(
                    "--broker-id",
                    help="search only partitions that this broker leads",
                    metavar="ID",
                    kind=number(0, INT32_MAX),
                ),
                option(
                    "--max-transaction-timeout",
                    help="leave out transactions with records of the last MINUTES minutes",
                    metavar="MINUTES",
                    kind=number(0, INT32_MAX),
                    default=OPEN_MAX_MINUTES,
                    shown_default=str(OPEN_MAX_MINUTES),
                ),
                JSON,
                *CONNECTION,
            ),
            details="A hanging transaction keeps read_committed consumers from reading past its start, and"
            " compaction from cleaning there. 'odradek transactions abort' ends it.",
            examples=("odradek transactions find-hanging --topic flights",),
        ),
        Command(
            "abort",
            "End a hanging transaction in one partition.",
            abort,
            (
                _topic("the topic", required=True),
                _partition("its partition", required=True),
                option(
                    "--start-offset",
                    help="where the transaction starts, as find-hanging shows it",
                    metavar="OFFSET",
                    kind=number(),
                    required=True,
                ),
                flag("--force", help="also a transaction that its coordinator still has"),
                *CONNECTION,
            ),
            details="The transaction stays open in the other partitions that have records of it.",
            examples=("odradek transactions abort --topic flights --partition 0 --start-offset 1200",),
        ),
        Command(
            "force-terminate",
            "Abort the open transaction of a transactional id, and fence its producer.",
            force_terminate,
            (ID, *CONNECTION),
        ),
    ),
)
