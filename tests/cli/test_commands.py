"""The commands as a person types them, against a broker in this process."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.cli.app import run
from odradek.cli.output import show
from odradek.testing import Broker

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def broker(data_dir: Path) -> Iterator[Broker]:
    with Broker(data_dir=data_dir, settings={"odradek.admin.port": "0"}) as running:
        yield running


@pytest.fixture(autouse=True)
def where(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVERS", broker.bootstrap_servers)


def output_of(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(arguments) == code, capsys.readouterr()
    return capsys.readouterr().out


def send_lines(monkeypatch: pytest.MonkeyPatch, topic: str, text: bytes, *options: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert run(["produce", topic, *options]) == 0


def test_topics_are_made_listed_grown_and_deleted(capsys: pytest.CaptureFixture[str]) -> None:
    assert output_of(capsys, "topics", "create", "made", "--partitions", "2") == "Created topic made.\n"
    listed = json.loads(output_of(capsys, "topics", "list", "--json"))
    assert {"topic": "made", "partitions": 2, "replicas": 1} in listed
    assert "3 partitions" in output_of(capsys, "topics", "alter", "made", "--partitions", "3")
    described = json.loads(output_of(capsys, "topics", "describe", "made", "--json"))
    assert [row["partition"] for row in described] == [0, 1, 2]
    assert output_of(capsys, "topics", "delete", "made") == "Deleted topic made.\n"


def test_a_table_names_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    run(["topics", "create", "shown"])
    lines = output_of(capsys, "topics", "list").splitlines()
    header = next(line for line in lines if line.startswith("topic"))
    assert header.split() == ["topic", "partitions", "replicas"]
    assert any(line.split() == ["shown", "1", "1"] for line in lines), lines


def test_a_name_that_looks_like_markup_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("[/bold]", "[red]x", ":smile:"):
        show([{"group": name}], as_json=False, empty="")
        assert name in capsys.readouterr().out


def test_settings_are_set_shown_with_their_layer_and_reset(capsys: pytest.CaptureFixture[str]) -> None:
    run(["topics", "create", "tuned"])
    output_of(capsys, "configs", "set", "topic", "tuned", "retention.ms=5000")
    shown = json.loads(output_of(capsys, "configs", "describe", "topic", "tuned", "--json"))
    assert [(row["setting"], row["value"], row["from"]) for row in shown] == [
        ("retention.ms", "5000", "dynamic topic")
    ]
    output_of(capsys, "configs", "reset", "topic", "tuned", "retention.ms")
    assert "at their defaults" in output_of(capsys, "configs", "describe", "topic", "tuned")


def test_lines_go_in_and_come_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(["topics", "create", "lines"])
    send_lines(monkeypatch, "lines", b"a=1\nb=2\n", "--key-separator", "=")
    assert run(["consume", "lines", "--from-beginning", "--max-messages", "2", "--json"]) == 0
    shown = capsys.readouterr().out.splitlines()
    records = [json.loads(line) for line in shown if line.startswith("{")]
    assert [(one["key"], one["value"], one["offset"]) for one in records] == [("a", "1", 0), ("b", "2", 1)]


def test_a_log_is_dumped_from_its_files(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, data_dir: Path
) -> None:
    run(["topics", "create", "dumped"])
    send_lines(monkeypatch, "dumped", b"x\ny\n")
    capsys.readouterr()
    batches = [
        json.loads(line)
        for line in output_of(capsys, "log", "dump", str(data_dir / "dumped-0"), "--json").splitlines()
    ]
    assert sum(batch["records"] for batch in batches) == 2
    segment = data_dir / "dumped-0" / "00000000000000000000.log"
    records = [
        json.loads(line)
        for line in output_of(capsys, "log", "dump", str(segment), "--records", "--json").splitlines()
    ]
    assert [(one["offset"], one["value"]) for one in records] == [(0, "x"), (1, "y")]


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["topics", "delete", "nowhere"], 1, "odradek: there is no topic nowhere\n"),
        (["topics", "create", "no good"], 1, "odradek: the topic name 'no good' has characters other than"),
        (
            ["topics", "create", "t", "--config", "novalue"],
            2,
            "a setting is given as name=value, not 'novalue'",
        ),
        (["topics", "list", "-b", "nowhere"], 2, "bootstrap servers are a list of host:port, not 'nowhere'"),
        (["topics", "list", "-b", "127.0.0.1:1"], 1, "cannot connect to 127.0.0.1:1"),
        (["log", "dump", "no/such/path"], 1, "there is no file or directory no/such/path"),
        (["describe", "purgatories"], 1, "purgatories are shown by the admin listener"),
        (["describe", "groups"], 1, "groups are shown by the admin listener"),
        (["describe", "transactions"], 1, "transactions are shown by the admin listener"),
        (["describe", "purgatories", "--admin", "127.0.0.1:1"], 1, "the admin listener at 127.0.0.1:1"),
        (["describe", "groups", "--admin", "no where"], 1, "the admin listener at no where did not answer"),
        (["describe", "groups", "--admin", "nowhere:x"], 1, "the admin listener at nowhere:x did not answer"),
        (["groups", "describe", "\udcff"], 2, "an argument is not UTF-8: '\\udcff'"),
        (["consume", "nowhere"], 1, "nowhere"),
        (["bogus"], 2, "No such command"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_a_code(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, sentence: str
) -> None:
    assert run(arguments) == code
    assert sentence in capsys.readouterr().err


def test_a_setting_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    run(["topics", "create", "unsettable"])
    assert run(["configs", "set", "topic", "unsettable", "no.such=1"]) == 1
    assert "no.such" in capsys.readouterr().err


HOSTILE = "g\x1b[2J\x9b\x7f\u202e\nforged  Stable  classic"
SHOWN = "g\\x1b[2J\\x9b\\x7f\\u202e\\nforged  Stable  classic"


def test_a_table_has_a_row_for_each_thing_whatever_it_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    """A group id may hold what clears a screen, turns text around, or looks like the next row."""
    rows: list[dict[str, object]] = [
        {"group": HOSTILE, "of": [HOSTILE], "map": {HOSTILE: 1}, HOSTILE: "x"},
        {"group": "plain"},
    ]
    show(rows, as_json=False, empty="")
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) == 3
    assert shown.count(SHOWN) == 4
    assert shown.replace("\n", "").isprintable()
    show(rows, as_json=True, empty="")
    text = capsys.readouterr().out
    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    assert json.loads(text)[0]["group"] == HOSTILE


@pytest.mark.parametrize(
    "command",
    [
        ("groups", "describe", HOSTILE),
        ("groups", "delete", HOSTILE),
        ("topics", "describe", HOSTILE),
        ("transactions", "describe", HOSTILE),
        ("configs", "set", "topic", HOSTILE, "retention.ms=1"),
        ("log", "dump", HOSTILE),
    ],
)
def test_sentences_about_names_are_one_line(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    run(command)
    printed = capsys.readouterr()
    said = (printed.out + printed.err).rstrip("\n")
    assert said
    assert said.isprintable()


def test_a_record_steers_no_terminal_and_reaches_a_pipe_as_it_is(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(["topics", "create", "raw"])
    send_lines(monkeypatch, "raw", b"\x1b[2Jhello\n")
    capfdbinary.readouterr()
    consume = ["consume", "raw", "--from-beginning", "--max-messages", "1"]
    assert run(consume) == 0
    assert capfdbinary.readouterr().out == b"\x1b[2Jhello\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run(consume) == 0
    assert capfdbinary.readouterr().out == b"\\x1b[2Jhello\n"
