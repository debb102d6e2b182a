"""`./dev demo`: a year of flights into three tables; the pipeline is killed, resumed, and verified."""

import argparse
import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from peers.short_spark import use_short_jvms
from rich.console import Console
from rich.table import Table

from demo.answers import (
    Delays,
    NotOnce,
    check_flights,
    check_hours,
    delays_by_airline,
    delays_by_origin,
    read_table,
    verified,
)
from demo.driver import DriverFailed
from demo.flights import months_of, read_flights
from demo.plot import draw
from demo.screen import Screen
from demo.streaming import stream
from demo.tables import prepare
from odradek.base.errors import OdradekError
from odradek.spark.lake_jars import JarsMissing
from odradek.spark.pipeline.description import Description
from odradek.spark.pipeline.formats import session_settings
from odradek.spark.session import spark_session
from odradek.testing import Broker

FOLDER: Final = Path("build") / "demo"
TOPIC: Final = "flights"
PLOT: Final = "delays.png"


def main() -> None:
    """Run the demo; exits with an error unless each flight is in each table exactly once."""
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__)
    parser.add_argument("--folder", type=Path, help=f"a new folder for tables and plot ({FOLDER}, made anew)")
    arguments = parser.parse_args()
    if arguments.folder is None:
        shutil.rmtree(FOLDER, ignore_errors=True)
    elif arguments.folder.exists():
        raise SystemExit(f"{arguments.folder} exists: give a folder that does not")
    use_short_jvms()
    try:
        run(Console(), arguments.folder or FOLDER)
    except (DriverFailed, NotOnce, OdradekError) as error:
        raise SystemExit(f"the demo failed: {error}") from None


def run(console: Console, folder: Path) -> None:
    """All of it, with the tables in `folder`. Raises DriverFailed, NotOnce, OdradekError."""
    with ThreadPoolExecutor(1) as pool, Broker(process=True, settings={"num.partitions": "4"}) as broker:
        os.environ["ODRADEK_BOOTSTRAP_SERVERS"] = broker.bootstrap_servers
        reading = pool.submit(read_flights)
        descriptions = prepare(folder.absolute(), has_delta=has_delta(console))
        flights = reading.result()
        with Screen(console, descriptions, flights.num_rows) as screen:
            screen.say(f"a broker of Odradek listens on {broker.bootstrap_servers}")
            feed = stream(screen, broker.bootstrap_servers, TOPIC, months_of(flights), descriptions)
            screen.say(f"all tables are up to date; flights were sent at {feed.rate:,.0f} a second")
        ask(console, descriptions, flights)
    console.print(f"Tables and descriptions are in [bold]{folder}[/].", highlight=False)


def has_delta(console: Console) -> bool:
    """Whether the jars of Delta are here, or can be fetched; says what is left out without them."""
    try:
        with console.status("fetching the jars of Delta, if they are not here yet"):
            session_settings(["delta"])
    except JarsMissing as error:
        console.print(
            "[yellow]Left out: the hourly delays, whose rows only Delta replaces, and their plot, because"
            f" {error}. The flights become Parquet files.[/]",
            highlight=False,
        )
        return False
    return True


def ask(console: Console, descriptions: Sequence[Description], flights: Any) -> None:
    """Verify the tables, show what they say, and draw the plot. Raises NotOnce, OdradekError."""
    table_of = {one.name: one for one in descriptions}
    formats = [one.sink_format for one in descriptions]
    with console.status("starting Spark, to verify the tables"):
        spark = spark_session("odradek-demo", settings=session_settings(formats))
    try:
        for one in descriptions:
            with console.status(f"verifying {one.name}"):
                found = verified(spark, one, flights.num_rows)
            once = "no gap, no overlap" if one.transforms else "each is in the table once"
            console.print(
                f"[green]verified[/]  {one.name}: {found.records:,} records of the topic in {found.batches}"
                f" batches; {once}",
                highlight=False,
            )
        rows = read_table(spark, table_of["flights"]).cache()
        check_flights(rows, flights.num_rows)
        console.print("[green]checked[/]   flights has each flight once", highlight=False)
        print_delays(console, "Departure delays by airline", delays_by_airline(rows))
        if "delays" in table_of:
            hours = read_table(spark, table_of["delays"]).cache()
            ask_hours(console, table_of["delays"], hours, flights)
    finally:
        spark.stop()


def ask_hours(console: Console, description: Description, table: Any, flights: Any) -> None:
    """Check the hourly delays against the flights, show and draw them. Raises NotOnce."""
    hours = table.toArrow()
    check_hours(hours, flights)
    print_delays(console, "Departure delays by airport", delays_by_origin(table))
    console.print(
        f"[green]checked[/]   delays has {hours.num_rows:,} hours, equal to those of the data file",
        highlight=False,
    )
    file = description.file.parent / PLOT
    draw(hours, file)
    console.print(f"The year as a picture: [bold]{shown(file)}[/]", highlight=False, soft_wrap=True)


def shown(file: Path) -> Path:
    """A path as short as it can be here."""
    return file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file


def print_delays(console: Console, title: str, rows: Sequence[Delays]) -> None:
    """One table of delays."""
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for heading in ("flights", "cancelled", "mean delay", "worst"):
        table.add_column(heading, justify="right")
    for row in rows:
        cancelled = f"{100 * row.cancelled / row.flights:.1f} %"
        table.add_row(row.name, f"{row.flights:,}", cancelled, f"{row.mean:.1f} min", f"{row.worst:,} min")
    console.print(table)


if __name__ == "__main__":
    main()
