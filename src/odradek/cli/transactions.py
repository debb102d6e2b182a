"""`odradek transactions`: which transactional ids are known, and what they have open."""

from typing import Annotated

import typer

from odradek.cli.output import BOOTSTRAP, AsJson, Bootstrap, show
from odradek.client.transaction_admin import TransactionAdmin

app = typer.Typer(help="Show transactional producers and their transactions.", no_args_is_help=True)


@app.command("list")
def list_transactions(bootstrap: Bootstrap = BOOTSTRAP, as_json: AsJson = False) -> None:
    """List the transactional ids with their states."""
    with TransactionAdmin(bootstrap) as admin:
        found = admin.list_transactions()
    rows = [
        {"transactional_id": one.transactional_id, "producer_id": one.producer_id, "state": one.state}
        for one in found
    ]
    show(rows, as_json=as_json, empty="There are no transactional ids.")


@app.command("describe")
def describe(
    name: Annotated[str, typer.Argument(help="the transactional id")],
    bootstrap: Bootstrap = BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Show a transactional id's producer and the partitions of its open transaction."""
    with TransactionAdmin(bootstrap) as admin:
        found = admin.describe(name)
    row = {
        "transactional_id": found.transactional_id,
        "state": found.state,
        "producer_id": found.producer_id,
        "producer_epoch": found.producer_epoch,
        "timeout_ms": found.timeout_ms,
        "started_ms": found.started_ms,
        "partitions": [str(partition) for partition in found.partitions],
    }
    show([row], as_json=as_json, empty="")
