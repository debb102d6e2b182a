"""The commands as a person types them, against a broker in this process."""

import json
import re
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.cli.main import MODULES, run
from odradek.cli.output import Column, show
from odradek.cli.topics import delete_records_below
from odradek.client.administering import administering
from odradek.client.configuration import ClientConfig, from_properties, read_properties
from odradek.client.core.admin.topics import NewTopic
from odradek.testing import Broker
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

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


def send_lines(
    monkeypatch: pytest.MonkeyPatch, topic: str, text: bytes, *options: str, code: int = 0
) -> None:
    with tempfile.TemporaryFile("w+b") as file:
        file.write(text)
        file.seek(0)
        monkeypatch.setattr(sys, "stdin", file)
        assert run(["produce", topic, *options]) == code


def test_topics_are_made_listed_grown_and_deleted(capsys: pytest.CaptureFixture[str]) -> None:
    assert output_of(capsys, "topics", "create", "made", "--partitions", "2") == "Created topic made.\n"
    listed = json.loads(output_of(capsys, "topics", "list", "--json"))
    (made,) = [one for one in listed if one["topic"] == "made"]
    assert (made["partitions"], made["replicas"], made["internal"]) == (2, 1, False)
    assert "3 partitions" in output_of(capsys, "topics", "alter", "made", "--partitions", "3")
    described = json.loads(output_of(capsys, "topics", "describe", "made", "--json"))
    assert [row["partition"] for row in described] == [0, 1, 2]
    assert output_of(capsys, "topics", "delete", "made") == "Deleted topic made.\n"


def test_a_table_names_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    run(["topics", "create", "shown"])
    lines = output_of(capsys, "topics", "list").splitlines()
    header = next(line for line in lines if line.startswith("topic"))
    assert header.split() == ["topic", "partitions", "replicas", "id"]
    assert any(line.split()[:3] == ["shown", "1", "1"] for line in lines), lines


def test_a_name_that_looks_like_markup_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("[/bold]", "[red]x", ":smile:"):
        show([{"group": name}], [Column("group")], as_json=False, empty="")
        assert name in capsys.readouterr().out


def test_settings_are_set_shown_with_their_layer_and_reset(capsys: pytest.CaptureFixture[str]) -> None:
    run(["topics", "create", "tuned"])
    output_of(capsys, "configs", "set", "topic", "tuned", "retention.ms=5000")
    shown = json.loads(output_of(capsys, "configs", "describe", "topic", "tuned", "--json"))
    assert [(row["setting"], row["value"], row["from"]) for row in shown] == [
        ("retention.ms", "5000", "dynamic topic")
    ]
    output_of(capsys, "configs", "reset", "topic", "tuned", "retention.ms")
    assert "have their default values" in output_of(capsys, "configs", "describe", "topic", "tuned")


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
            ["topics", "create", "t", "--set", "novalue"],
            2,
            "a setting is given as name=value, not 'novalue'",
        ),
        (["topics", "create", "t", "--config", "a=b"], 2, "settings are given with --set, as --set a=b"),
        (["topics", "list", "-b", "nowhere"], 2, "bootstrap servers are a list of host:port, not 'nowhere'"),
        (["topics", "list", "-b", "127.0.0.1:1"], 1, "cannot connect to 127.0.0.1:1"),
        (["log", "dump", "no/such/path"], 1, "there is no file or directory no/such/path"),
        (["describe", "purgatories"], 1, "purgatories are shown by the admin listener"),
        (["describe", "groups"], 1, "groups are shown by the admin listener"),
        (["describe", "transactions"], 1, "transactions are shown by the admin listener"),
        (["describe", "purgatories", "--admin", "127.0.0.1:1"], 1, "the admin listener at 127.0.0.1:1"),
        (["describe", "groups", "--admin", "no where"], 2, "--admin is HOST:PORT"),
        (["describe", "groups", "--admin", "nowhere:x"], 2, "--admin is HOST:PORT"),
        (["describe", "replicas", "--admin", "a:1,b:2"], 2, "is one HOST:PORT here"),
        (
            ["describe", "groups", "--admin", "no where:1"],
            1,
            "the admin listener at no where:1 did not answer",
        ),
        (["groups", "describe", "\udcff"], 2, "an argument is not UTF-8: '\\udcff'"),
        (["configs", "set", "topic", "nowhere", "a=1"], 1, "there is no topic nowhere"),
        (["consume", "nowhere"], 1, "nowhere"),
        (["consume", "no good"], 1, "odradek: the topic name 'no good' has characters other than"),
        (["produce", "no good", "--file", "/dev/null"], 1, "odradek: the topic name 'no good' has"),
        (["bogus"], 2, "odradek has no command 'bogus'"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_a_code(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, sentence: str
) -> None:
    assert run(arguments) == code
    assert sentence in capsys.readouterr().err


def test_a_wrong_command_line_is_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["topics", "list", "--nonsense"]) == 2
    assert capsys.readouterr().err == (
        "odradek topics list has no option --nonsense; see odradek topics list --help\n"
    )


def test_a_directory_without_a_log_is_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["log", "dump", str(tmp_path)]) == 1
    assert capsys.readouterr().err.endswith("is no partition's directory: it has no .log file\n")
    (tmp_path / "flights-0").mkdir()
    (tmp_path / "flights-0" / "00000000000000000000.log").touch()
    assert run(["log", "dump", str(tmp_path)]) == 1
    assert capsys.readouterr().err.endswith(f"; its logs are in directories such as {tmp_path}/flights-0\n")


@pytest.mark.parametrize("columns", [60, 100])
def test_the_help_of_every_command_fits_and_cuts_no_option(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for name in MODULES:
        module = import_module(f"odradek.cli.{MODULES[name][0]}")
        group = getattr(module, "GROUP", None)
        for words in [[name], *([name, one.name] for one in (group.commands if group else ()))]:
            text = output_of(capsys, *words, "--help").partition("\nExamples:")[0]
            assert max(map(len, text.splitlines()[1:])) <= columns, (words, text)
            assert not re.search(r"--?[a-z-]+-$", text, re.MULTILINE), (words, text)


def test_a_setting_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    run(["topics", "create", "unsettable"])
    assert run(["configs", "set", "topic", "unsettable", "no.such=1"]) == 1
    assert "no.such" in capsys.readouterr().err


def test_what_cannot_be_reset_is_named(capsys: pytest.CaptureFixture[str], broker: Broker) -> None:
    run(["topics", "create", "resettable"])
    capsys.readouterr()
    assert run(["configs", "reset", "topic", "resettable", "retention.m"]) == 2
    said = "odradek: topic resettable has no setting retention.m (did you mean retention.ms?)\n"
    assert capsys.readouterr().err == said
    assert run(["configs", "reset", "broker", "all", "log.retention.ms"]) == 2
    assert capsys.readouterr().err == "odradek: there is no value of log.retention.ms for all brokers\n"
    output_of(capsys, "configs", "set", "broker", "all", "log.retention.ms=5000")
    output_of(capsys, "configs", "reset", "broker", "all", "log.retention.ms")


HOSTILE = "g\x1b[2J\x9b\x7f\u202e\nforged  Stable  classic"
SHOWN = "g\\x1b[2J\\x9b\\x7f\\u202e\\nforged  Stable  classic"


def test_a_table_has_a_row_for_each_thing_whatever_it_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    """A group id may hold what clears a screen, turns text around, or looks like the next row."""
    rows: list[dict[str, object]] = [
        {"group": HOSTILE, "of": [HOSTILE], "map": {HOSTILE: 1}, HOSTILE: "x"},
        {"group": "plain"},
    ]
    columns = [Column("group"), Column("of"), Column("map"), Column(HOSTILE)]
    show(rows, columns, as_json=False, empty="")
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) == 3
    assert shown.count(SHOWN) == 4
    assert shown.replace("\n", "").isprintable()
    show(rows, columns, as_json=True, empty="")
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


def test_a_setting_that_was_perhaps_meant_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    run(["topics", "create", "meant"])
    capsys.readouterr()
    for command in (
        ("configs", "set", "topic", "meant", "retention.m=1"),
        ("topics", "create", "meant-too", "--set", "retention.m=1"),
    ):
        assert run(command) == 1
        said = "odradek: there is no setting retention.m (did you mean retention.ms?)\n"
        assert capsys.readouterr().err == said
    assert run(["configs", "set", "topic", "meant", "retention.ms=soon"]) == 1
    assert "did you mean" not in capsys.readouterr().err


def test_the_name_of_a_broker_is_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["configs", "describe", "broker", "kafka-1"]) == 2
    said = "odradek: a broker's name is its id, a number, or 'all', not 'kafka-1'\n"
    assert capsys.readouterr().err == said
    assert "settings of all brokers have" in output_of(capsys, "configs", "describe", "broker", "all")


def test_an_empty_list_says_whether_a_filter_made_it_so(capsys: pytest.CaptureFixture[str]) -> None:
    run(["topics", "create", "there"])
    capsys.readouterr()
    nothing = ("--filter", "nothing-*")
    assert output_of(capsys, "topics", "list", *nothing) == "No topics match.\n"
    assert output_of(capsys, "groups", "list", "--state", "Nowhere") == "No groups match.\n"
    assert output_of(capsys, "transactions", "list", *nothing) == "No transactional ids match.\n"
    assert output_of(capsys, "describe", "partitions", *nothing) == "No partitions match.\n"
    assert "other values than the default match; --all" in output_of(
        capsys, "configs", "describe", "topic", "there", *nothing
    )


def test_a_wrong_option_of_the_command_itself_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--versoin"]) == 2
    said = "odradek has no option --versoin (did you mean --version?); see odradek --help\n"
    assert capsys.readouterr().err == said
    for words, path in (
        (["-b", "x", "topics", "list"], "odradek"),
        (["topics", "-b", "x"], "odradek topics"),
    ):
        assert run(words) == 2
        said = f"{path} has no option -b: options follow the command; see {path} --help\n"
        assert capsys.readouterr().err == said


def test_the_address_of_the_admin_listener_has_a_port(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["describe", "purgatories", "--admin", "localhost"]) == 2
    said = "odradek: --admin is HOST:PORT, with the port of serve --admin-port, not 'localhost'\n"
    assert capsys.readouterr().err == said


def test_a_topic_that_exists_is_made_once(capsys: pytest.CaptureFixture[str]) -> None:
    run(["topics", "create", "once"])
    assert run(["topics", "create", "once"]) == 1
    assert capsys.readouterr().err == "odradek: topic once exists already\n"
    assert "exists already" in output_of(capsys, "topics", "create", "once", "--if-not-exists")
    output_of(capsys, "topics", "delete", "once")
    said = output_of(capsys, "topics", "delete", "once", "--if-exists")
    assert said == "There is no topic once; nothing was deleted.\n"


@pytest.mark.parametrize("more", [(), ("--if-not-exists",)])
def test_a_topic_that_is_still_being_deleted_does_not_count_as_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    def refused(topics: Sequence[NewTopic]) -> NoReturn:
        said = f"the topic {topics[0].name} exists already and is being deleted"
        raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, said)

    monkeypatch.setattr("odradek.cli.topics.create_topics", refused)
    assert run(["topics", "create", "going", *more]) == 1
    assert capsys.readouterr().err.startswith("odradek: topic going is still being deleted; if that lasts, ")


def test_a_topic_is_described_with_its_offsets_and_size(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(["topics", "create", "measured"])
    send_lines(monkeypatch, "measured", b"a\nb\nc\n")
    capsys.readouterr()
    (row,) = json.loads(output_of(capsys, "topics", "describe", "measured", "--json"))
    assert (row["log_start_offset"], row["log_end_offset"]) == (0, 3)
    assert row["size_bytes"] > 0
    assert "id " in output_of(capsys, "topics", "describe", "measured")


def test_records_are_deleted_when_that_is_to_be_executed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(["topics", "create", "cut"])
    send_lines(monkeypatch, "cut", b"a\nb\nc\n")
    capsys.readouterr()
    cut = ("topics", "delete-records", "cut", "--before", "2", "--json")
    assert json.loads(output_of(capsys, *cut)) == [
        {"partition": 0, "log_start_offset": 0, "new_start_offset": 2}
    ]
    assert json.loads(output_of(capsys, *cut, "--execute")) == [{"partition": 0, "log_start_offset": 2}]
    for execute in ([], ["--execute"]):
        assert run(["topics", "delete-records", "cut", "--before", "9", *execute]) == 1
        assert capsys.readouterr().err == "odradek: cut-0 ends before offset 9; nothing was deleted\n"


def test_records_are_deleted_in_all_partitions_or_in_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(["topics", "create", "uneven", "--partitions", "3"])
    send_lines(monkeypatch, "uneven", b"a\nb\n", "--partition", "1")
    capsys.readouterr()
    for execute in ([], ["--execute"]):
        assert run(["topics", "delete-records", "uneven", "--before", "1", *execute]) == 1
        said = "odradek: uneven-0, uneven-2 end before offset 1; nothing was deleted\n"
        assert capsys.readouterr().err == said
    rows = json.loads(output_of(capsys, "topics", "describe", "uneven", "--json"))
    assert [row["log_start_offset"] for row in rows] == [0, 0, 0]


def test_an_answer_that_refuses_one_partition_names_those_that_were_cut(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(["topics", "create", "raced", "--partitions", "2"])
    send_lines(monkeypatch, "raced", b"a\nb\n", "--partition", "1")
    below = {TopicPartition("raced", number): 1 for number in (0, 1)}
    with (
        administering(ClientConfig(broker.bootstrap_servers)) as admin,
        pytest.raises(ApiError, match="raced-0 ends before offset 1; deleted in raced-1"),
    ):
        delete_records_below(admin, below)


def test_the_names_of_a_user_keep_their_letters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    send_lines(monkeypatch, "MyOrders", b"a\n")
    assert capsys.readouterr().err == (
        "odradek: topic MyOrders did not exist and was created, with 1 partition\n"
        "1 record was sent to MyOrders.\n"
    )
    send_lines(monkeypatch, "MyOrders", b"a\n", "--timeout", "60")
    assert capsys.readouterr().err == "1 record was sent to MyOrders.\n"


def test_every_file_of_a_log_is_shown_as_a_table_and_as_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Tables of indexes, snapshots and checkpoints were empty."""
    with Broker(data_dir=tmp_path, settings={"log.index.interval.bytes": "0"}) as other:
        monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVERS", other.bootstrap_servers)
        run(["topics", "create", "filed"])
        for _ in range(3):
            send_lines(monkeypatch, "filed", b"a\n")
    capsys.readouterr()
    log = tmp_path / "filed-0"
    expected = {
        f"{0:020}.log": "base offset",
        f"{0:020}.index": "position",
        f"{0:020}.timeindex": "timestamp",
        f"{3:020}.snapshot": "producer id",
        "leader-epoch-checkpoint": "start offset",
        "partition.metadata": "topic id",
        "../recovery-point-offset-checkpoint": "partition",
    }
    for name, column in expected.items():
        heading, *rows = output_of(capsys, "log", "dump", str(log / name)).splitlines()
        assert column in heading, name
        assert rows, name
        lines = output_of(capsys, "log", "dump", str(log / name), "--json").splitlines()
        assert [type(json.loads(line)) for line in lines] == [dict] * len(rows), name


def test_a_file_that_is_none_of_a_log_or_damaged_is_a_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name, content, sentence in (
        ("notes.txt", b"x", "notes.txt is no file of a log that can be shown"),
        ("leader-epoch-checkpoint", b"0\n5\n", "is damaged (it announces '5' lines and has 0)"),
        (f"{7:020}.snapshot", b"x", "a producer snapshot of 1 bytes is cut short"),
    ):
        (tmp_path / name).write_bytes(content)
        assert run(["log", "dump", str(tmp_path / name)]) == 1
        assert sentence in capsys.readouterr().err


def test_settings_are_explained_when_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    run(["topics", "create", "explained"])
    command = ("configs", "describe", "topic", "explained", "--all", "--filter", "retention.*")
    assert "limit" not in output_of(capsys, *command)
    assert "limit" in output_of(capsys, *command, "--explain")
    names = [row["setting"] for row in json.loads(output_of(capsys, *command, "--json"))]
    assert names == ["retention.bytes", "retention.ms"]


def test_the_client_is_configured_by_a_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, broker: Broker, tmp_path: Path
) -> None:
    monkeypatch.delenv("ODRADEK_BOOTSTRAP_SERVERS")
    file = tmp_path / "client.properties"
    file.write_text(f"bootstrap.servers={broker.bootstrap_servers}\n")
    output_of(capsys, "topics", "list", "--config", str(file))
    file.write_text("sasl.mechanism=PLAIN\n")
    assert run(["topics", "list", "--config", str(file)]) == 2
    assert capsys.readouterr().err == (
        "odradek: sasl.mechanism has no effect with security.protocol=PLAINTEXT:"
        " it needs SASL_SSL or SASL_PLAINTEXT\n"
    )
    file.write_text(f"bootstrap.servers={broker.bootstrap_servers}\nsecurity.protocol=SSL\n")
    assert run(["topics", "list", "--config", str(file)]) == 1
    assert capsys.readouterr().err.startswith(f"odradek: cannot connect to {broker.bootstrap_servers}: ")


def test_version_and_help_are_given_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert output_of(capsys, "--version").startswith("odradek ")
    for name in MODULES:
        assert output_of(capsys, name, "--help").startswith(f"Usage: odradek {name} ")
        assert output_of(capsys, name, "-h") == output_of(capsys, name, "--help")


def test_what_is_no_broker_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A web server, or a listener for TLS, closes the connection on a request that it does not know."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def close_one() -> None:
            with server.accept()[0] as connection:
                connection.recv(1)

        closer = threading.Thread(target=close_one)
        closer.start()
        assert run(["topics", "list", "-b", f"127.0.0.1:{port}"]) == 1
        closer.join()
    said = capsys.readouterr().err
    assert f"127.0.0.1:{port} does not answer as a PLAINTEXT listener of a broker does" in said


def test_connections_are_shown_with_who_is_behind_them(
    capsys: pytest.CaptureFixture[str], broker: Broker, tmp_path: Path
) -> None:
    file = tmp_path / "client.properties"
    file.write_text(f"client.id=auditor\nbootstrap.servers={broker.bootstrap_servers}\n")
    config, _ = from_properties(read_properties(file), ClientConfig())
    with config.connect() as connection:
        names = ApiVersionsRequest(client_software_name="library", client_software_version="1.0")
        connection.call(names, ApiVersionsResponse, 3)
        assert broker.admin_address is not None
        command = ("describe", "connections", "--admin", broker.admin_address, "--json")
        (shown,) = json.loads(output_of(capsys, *command, "--filter", "audit*"))
    assert (shown["client_id"], shown["software"]) == ("auditor", "library 1.0")


def test_replicas_are_shown_with_their_standing(capsys: pytest.CaptureFixture[str], broker: Broker) -> None:
    run(["topics", "create", "standing", "--partitions", "2"])
    capsys.readouterr()
    assert broker.admin_address is not None
    command = ("describe", "replicas", "--admin", broker.admin_address, "--filter", "standing")
    rows = json.loads(output_of(capsys, *command, "--json"))
    assert [(row["partition"], row["role"], row["state"]) for row in rows] == [
        (0, "leader", "in sync"),
        (1, "leader", "in sync"),
    ]
    heading, first, _ = output_of(capsys, *command).splitlines()
    assert re.split("  +", heading)[5:] == ["state", "in sync", "replicas", "end", "behind"]
    assert re.split("  +", first)[-5:] == ["in sync", "0", "0", "0", "-"]
    shown = output_of(capsys, *command, "--under-replicated")
    assert shown == "All replicas of these topics are in sync.\n"


@pytest.mark.parametrize(
    ("arguments", "late"),
    [
        (["--help"], ("odradek.client", "odradek.server", "odradek.storage", "asyncio", "sqlite3")),
        (["topics", "--help"], ("odradek.server", "odradek.storage", "asyncio", "sqlite3", "argparse")),
        (["consume", "--help"], ("odradek.server", "odradek.storage", "asyncio", "sqlite3", "argparse")),
        (["import", "--help"], ("odradek.client", "odradek.server", "odradek.storage", "sqlite3")),
        (["log", "--help"], ("odradek.client", "odradek.server", "asyncio", "sqlite3")),
    ],
)
def test_a_command_loads_nothing_of_the_others(arguments: list[str], late: tuple[str, ...]) -> None:
    program = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules));"
        f"from odradek.cli.main import main; main({arguments!r})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not [name for name in done.stdout.split() if name in late]


def test_partitions_are_those_of_topics_of_users_from_both_sources(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, broker: Broker
) -> None:
    run(["topics", "create", "twofold"])
    send_lines(monkeypatch, "twofold", b"a\nb\n")
    run(["groups", "reset-offsets", "twofold-readers", "--topic", "twofold", "--to", "earliest", "--execute"])
    capsys.readouterr()
    topics = []
    assert broker.admin_address is not None
    sources: tuple[list[str], ...] = ([], ["--admin", broker.admin_address])
    for more in sources:
        rows = json.loads(output_of(capsys, "describe", "partitions", "--json", *more))
        topics.append({row["topic"] for row in rows})
        (row,) = [row for row in rows if row["topic"] == "twofold"]
        held = [row[name] for name in ("partition", "log_start_offset", "high_watermark")]
        assert held == [0, 0, 2]
        assert row["size_bytes"] > 0
        rows = json.loads(output_of(capsys, "topics", "describe", "--internal", "--json"))
        assert "__consumer_offsets" in {row["topic"] for row in rows}
        rows = json.loads(output_of(capsys, "topics", "describe", "--json"))
        assert rows
        assert "__consumer_offsets" not in {row["topic"] for row in rows}
        rows = json.loads(output_of(capsys, "topics", "describe", "__consumer_offsets", "--json"))
        assert rows
        rows = json.loads(output_of(capsys, "describe", "partitions", "--internal", "--json", *more))
        assert "__consumer_offsets" in {row["topic"] for row in rows}
    ids = {row["topic_id"] for row in rows if row["topic"] == "twofold"}
    listed = json.loads(output_of(capsys, "topics", "list", "--json", "--filter", "twofold"))
    assert ids == {listed[0]["topic_id"]}, "one spelling everywhere"
    assert topics[0] == topics[1]
    assert "__consumer_offsets" not in topics[0]
