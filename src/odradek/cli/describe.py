"""`odradek describe`: what a broker holds and what it waits for, from its admin listener.

Partitions are also known to Kafka's own API, which is asked where there is no admin listener.
"""

import http.client
import json
import urllib.request
from typing import Annotated, Any

import typer

from odradek.base.errors import OdradekError
from odradek.cli.output import BOOTSTRAP, AsJson, Bootstrap, show
from odradek.client.admin import Admin

TIMEOUT_S = 10.0
# What fits on a screen; --json has everything.
PARTITION_COLUMNS = (
    "topic",
    "partition",
    "role",
    "leader",
    "in_sync",
    "isr",
    "log_start_offset",
    "high_watermark",
    "log_end_offset",
    "size_bytes",
)
GROUP_COLUMNS = ("group", "type", "state", "protocol", "offsets", "waits_for")
TRANSACTION_COLUMNS = ("transactional_id", "state", "producer_id", "producer_epoch", "waits_for")

app = typer.Typer(help="Show what a broker holds and what it is waiting for.", no_args_is_help=True)

AdminAddress = Annotated[
    str | None,
    typer.Option(
        "--admin", envvar="ODRADEK_ADMIN", help="host:port of the admin listener (serve --admin-port)"
    ),
]


@app.command("purgatories")
def purgatories(admin: AdminAddress = None, as_json: AsJson = False) -> None:
    """List every request that is held back and the condition that it waits for."""
    show(_ask(admin, "purgatories"), as_json=as_json, empty="Nothing is waiting.")


@app.command("groups")
def groups(admin: AdminAddress = None, as_json: AsJson = False) -> None:
    """List the consumer groups that this broker coordinates and what each waits for."""
    show(_ask(admin, "groups"), as_json=as_json, empty="There are no groups.", columns=GROUP_COLUMNS)


@app.command("transactions")
def transactions(admin: AdminAddress = None, as_json: AsJson = False) -> None:
    """List the transactional ids that this broker coordinates and what each waits for."""
    rows = _ask(admin, "transactions")
    show(rows, as_json=as_json, empty="There are no transactional ids.", columns=TRANSACTION_COLUMNS)


@app.command("connections")
def connections(admin: AdminAddress = None, as_json: AsJson = False) -> None:
    """List the clients' connections."""
    show(_ask(admin, "connections"), as_json=as_json, empty="There are no connections.")


@app.command("compaction")
def compaction(admin: AdminAddress = None, as_json: AsJson = False) -> None:
    """List the compacted logs, how dirty they are, and what keeps each from being cleaned."""
    show(_ask(admin, "compaction"), as_json=as_json, empty="No log is compacted.")


@app.command("partitions")
def partitions(admin: AdminAddress = None, bootstrap: Bootstrap = BOOTSTRAP, as_json: AsJson = False) -> None:
    """List the partitions with their offsets and replicas."""
    if admin is not None:
        rows = _ask(admin, "partitions")
    else:
        with Admin(bootstrap) as client:
            rows = [
                {"partition": f"{topic.name}-{one.partition}", "leader": one.leader, "in_sync": one.isr}
                for topic in client.list_topics()
                for one in topic.partitions
            ]
    show(rows, as_json=as_json, empty="There are no partitions.", columns=PARTITION_COLUMNS)


def _ask(admin: str | None, what: str) -> list[dict[str, Any]]:
    if admin is None:
        raise OdradekError(
            f"{what} are shown by the admin listener: serve with --admin-port, then give it as --admin"
        )
    try:
        with urllib.request.urlopen(f"http://{admin}/describe/{what}", timeout=TIMEOUT_S) as answer:
            rows: list[dict[str, Any]] = json.load(answer)
            return rows
    except (http.client.HTTPException, OSError, ValueError) as error:
        raise OdradekError(f"the admin listener at {admin} did not answer: {_reason(error)}") from error


def _reason(error: Exception) -> object:
    """What lies behind an error of urllib, which wraps it in words for programmers."""
    return getattr(error, "reason", error)
