"""`odradek transactions`: lists transactional ids, and shows their open transactions."""

from odradek.cli.command_line import JSON, Command, Group, Options, option, positional
from odradek.cli.connecting import CONNECTION, client_config
from odradek.cli.names import FILTER, matching
from odradek.cli.output import Column, colour_of_state, counted, show, timed
from odradek.client.transaction_admin import TransactionAdmin

COLUMNS = (
    Column("transactional_id"),
    Column("state", colour=colour_of_state),
    Column("producer_id"),
    Column("producer_epoch"),
    Column("timeout_ms", counted, title="timeout ms"),
    Column("started_ms", timed, title="started"),
    Column("partitions"),
)


def list_transactions(options: Options) -> None:
    """List the transactional ids."""
    with TransactionAdmin(client_config(options)) as admin:
        found = admin.list_transactions()
    rows = [
        {"transactional_id": one.transactional_id, "producer_id": one.producer_id, "state": one.state}
        for one in found
        if options.state is None or one.state.lower() == options.state.lower()
    ]
    rows = matching(rows, options.filter, "transactional_id")
    show(rows, COLUMNS, as_json=options.json, empty="There are no transactional ids.")


def describe(options: Options) -> None:
    """Show one transactional id."""
    with TransactionAdmin(client_config(options)) as admin:
        found = admin.describe(options.name)
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


GROUP = Group(
    "transactions",
    "Show transactional producers and their transactions.",
    (
        Command(
            "list",
            "List the transactional ids with their states.",
            list_transactions,
            (
                option("--state", help="only those in this state, as Ongoing", metavar="STATE"),
                FILTER,
                JSON,
                *CONNECTION,
            ),
        ),
        Command(
            "describe",
            "Show a transactional id's producer and the partitions of its open transaction.",
            describe,
            (positional("name", "the transactional id", metavar="TRANSACTIONAL_ID"), JSON, *CONNECTION),
        ),
    ),
)
