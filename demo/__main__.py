"""`./dev demo`: start a broker, stream the flights, write the table, print what it says, check it."""

import argparse
import asyncio
import tempfile
import time
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from demo.flights import FLIGHTS, airline_names, flights_as_json
from demo.producing import produce
from demo.table import Delays, check_exactly_once, delays_by, write_table
from odradek.spark.session import spark_session
from odradek.testing import Broker

TOPIC = "flights"


def main() -> None:
    """Run the demo; exits with an error when the table does not hold each flight exactly once."""
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__)
    parser.add_argument("--flights", type=int, default=FLIGHTS, help="how many flights to send (all)")
    parser.add_argument("--table", type=Path, help="where to keep the table (a temporary folder)")
    arguments = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="odradek-demo-") as scratch:
        table_path = arguments.table or Path(scratch) / "flights.parquet"
        with Broker(process=True, settings={"num.partitions": "4"}) as broker:
            console.print(f"broker    Odradek on [bold]{broker.bootstrap_servers}[/]")
            sent = stream(console, broker.bootstrap_servers, arguments.flights)
            make_table(console, broker.bootstrap_servers, table_path, sent)
        if arguments.table:
            console.print(f"table     kept in {table_path}")


def stream(console: Console, bootstrap: str, count: int) -> int:
    """Send the flights with a progress bar; returns how many were acknowledged."""
    started = time.perf_counter()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("producing", total=count)
        records = islice(flights_as_json(), count)
        sent = asyncio.run(produce(bootstrap, TOPIC, records, lambda more: progress.advance(bar, more)))
    rate = sent / (time.perf_counter() - started)
    console.print(f"produced  {sent:,} flights, keyed by carrier, {rate:,.0f} a second")
    return sent


def make_table(console: Console, bootstrap: str, path: Path, expected: int) -> None:
    """Let Spark read the topic into a table and ask the table."""
    with console.status("starting Spark"):
        spark = spark_session("odradek-demo")
    try:
        with console.status("Spark reads the topic"):
            started = time.perf_counter()
            write_table(spark, bootstrap, TOPIC, str(path))
        console.print(
            f"wrote     {path.name} in {time.perf_counter() - started:.1f} s, one folder per origin"
        )
        table = spark.read.parquet(str(path))
        check_exactly_once(table, expected)
        names = airline_names()
        print_delays(console, "Departure delays by carrier", delays_by(table, "carrier"), names)
        print_delays(console, "Departure delays by origin", delays_by(table, "origin"), {})
        console.print(f"[green]checked[/]   the table holds each of the {expected:,} flights exactly once")
    finally:
        spark.stop()


def print_delays(console: Console, title: str, rows: list[Delays], names: dict[str, str]) -> None:
    """One table of delays, names spelled out where they are known."""
    shown = Table(title=title, title_justify="left")
    shown.add_column("")
    for heading in ("flights", "mean delay", "worst"):
        shown.add_column(heading, justify="right")
    for row in rows:
        name = names.get(row.name, row.name)
        shown.add_row(name, f"{row.flights:,}", f"{row.mean_delay:.1f} min", f"{row.worst_delay:,} min")
    console.print(shown)


if __name__ == "__main__":
    main()
