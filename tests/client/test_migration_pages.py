"""The tables of the pages for users of other libraries name what exists: settings and calls of both."""

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import odradek
import odradek.aio
from odradek.base.errors import SettingError
from odradek.client.protection import NAMES as PROTECTION_NAMES
from odradek.client.settings import TABLE, Client, read_settings

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGES: Final = ("from-kafka-python.md", "from-aiokafka.md", "from-confluent-kafka.md")
OURS: Final = {setting.name for setting in TABLE} | set(PROTECTION_NAMES)
# Calls that belong to no client: of deliveries and errors, and of Python.
OTHERS: Final = {"result", "exception", "add_done_callback"}


def tables(page: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The header and the rows of each table of two columns."""
    for lines in re.findall(r"(?:^\|.*\|$\n?)+", (DOCS / page).read_text(), re.MULTILINE):
        cells = [
            tuple(cell.strip() for cell in line.strip("| \n").split(" | ")) for line in lines.splitlines()
        ]
        assert all(len(row) == 2 for row in cells[:1] + cells[2:]), (page, lines)
        yield cells[0][1], [(row[0], row[1]) for row in cells[2:]]


def names(cell: str) -> list[str]:
    """The names of settings in a cell."""
    return re.findall(r"`([a-z][a-z_.]+)=?`", cell)


def settings_tables(page: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    for header, rows in tables(page):
        if (
            header in ("instead", "Odradek")
            and all(names(old) for old, _ in rows)
            and "Error" not in str(rows)
        ):
            yield header, rows


def is_ours(name: str) -> bool:
    """Whether a client has this setting, by Kafka's name or Python's."""
    return name.replace("_", ".") in OURS


@pytest.mark.parametrize("page", PAGES)
def test_settings_of_the_other_library_are_refused_and_ours_are_accepted(page: str) -> None:
    count = 0
    for header, rows in settings_tables(page):
        for old, new in rows:
            count += 1
            assert [name for name in names(old) if is_ours(name)] == [], f"{page}: they work here, too"
            if header == "Odradek":
                ours = names(new)
                assert ours, f"{page}: {new} names no setting"
                assert [name for name in ours if not is_ours(name)] == [], f"{page}: no settings of ours"
    assert count >= 8


@pytest.mark.parametrize("page", PAGES)
def test_calls_are_methods_of_our_clients(page: str) -> None:
    count = 0
    for header, rows in tables(page):
        found = re.fullmatch(r"`(odradek(?:\.aio)?)\.(Consumer|Producer|Admin)`", header)
        if found is None:
            continue
        client = getattr(odradek.aio if found[1] == "odradek.aio" else odradek, found[2])
        for _, ours in rows:
            for span in re.findall(r"`([^`]+)`", ours):
                for prefix, name in re.findall(
                    r"(?:(?<![\w.])(consumer|producer|Admin)\.)?(?<![\w.])([a-z_]+)\(", span
                ):
                    kind = {"Admin": odradek.Admin, "consumer": odradek.Consumer}.get(prefix, client)
                    count += 1
                    assert name in OTHERS or hasattr(kind, name), f"{page}: {span}"
    assert count >= 12


def _of_kafka_python() -> set[str]:
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer

    return {
        name for client in (KafkaConsumer, KafkaProducer, KafkaAdminClient) for name in client.DEFAULT_CONFIG
    }


def _of_aiokafka() -> set[str]:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

    clients: list[Any] = [AIOKafkaConsumer, AIOKafkaProducer]
    return {name for client in clients for name in inspect.signature(client.__init__).parameters}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("page", "theirs"), [("from-kafka-python.md", _of_kafka_python), ("from-aiokafka.md", _of_aiokafka)]
)
def test_their_settings_are_what_the_library_has(page: str, theirs: Callable[[], set[str]]) -> None:
    known = theirs()
    named = {name for _, rows in settings_tables(page) for old, _ in rows for name in names(old)}
    assert named - known == set()


@pytest.mark.slow
def test_settings_of_confluent_kafka_are_what_the_library_has() -> None:
    from confluent_kafka import Consumer, KafkaException, Producer

    own = {"debug", "logger", "on_delivery"}
    named = {
        name
        for _, rows in settings_tables("from-confluent-kafka.md")
        for old, _ in rows
        for name in names(old)
        if name not in own and not name.endswith("_cb")
    }
    unknown = set()
    for name in named:
        for client in (Consumer, Producer):
            try:
                client({"group.id": "g", name: "no such value"})
            except KafkaException as error:
                if "No such configuration property" in str(error):
                    unknown.add((client.__name__, name))
    assert {name for _, name in unknown if {("Consumer", name), ("Producer", name)} <= unknown} == set()


@pytest.mark.parametrize("page", PAGES)
def test_the_refusal_of_a_setting_names_what_the_page_names(page: str) -> None:
    for header, rows in settings_tables(page):
        for old, new in rows:
            for name in names(old):
                with pytest.raises(SettingError) as refused:
                    read_settings(Client.PRODUCER, {name: "x"})
                assert "is not a setting" not in str(refused.value)
                if header == "Odradek":
                    ours = [one.replace("_", ".") for one in names(new)]
                    assert any(one in str(refused.value) for one in ours), name


def _clients_of(page: str) -> list[tuple[type, type]]:
    """The classes of a page's library, and ours."""
    if page == "from-kafka-python.md":
        from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer

        theirs: list[Any] = [KafkaConsumer, KafkaProducer, KafkaAdminClient]
    elif page == "from-aiokafka.md":
        from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
        from aiokafka.admin import AIOKafkaAdminClient

        theirs = [AIOKafkaConsumer, AIOKafkaProducer, AIOKafkaAdminClient]
    else:
        from confluent_kafka import Consumer, Producer
        from confluent_kafka.admin import AdminClient

        theirs = [Consumer, Producer, AdminClient]
    return list(zip(theirs, [odradek.Consumer, odradek.Producer, odradek.Admin], strict=True))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("page", PAGES)
def test_every_method_of_the_library_is_ours_or_named(page: str) -> None:
    text = (DOCS / page).read_text()
    missing = {
        f"{theirs.__name__}.{name}"
        for theirs, ours in _clients_of(page)
        for name in dir(theirs)
        if name.islower() and not name.startswith("_") and not hasattr(ours, name)
        if not re.search(rf"(?<![\w.]){name}\b", text)
    }
    assert missing == set()
