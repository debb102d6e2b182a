import subprocess
import sys
from pathlib import Path

import pytest

from odradek.base.errors import SettingError
from odradek.cli.command_line import parse
from odradek.cli.main import run
from odradek.cli.serve import COMMAND, collect_properties


def properties_of(*arguments: str) -> dict[str, str]:
    return collect_properties(parse("odradek serve", COMMAND, arguments))


def test_options_win_over_set_which_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=3\nlog.dir=there\nlisteners=PLAINTEXT://0.0.0.0:9092\n")
    found = properties_of(
        *("--config", str(file), "--set", "num.partitions=5", "--data-dir", "here", "--port", "0"),
        *("--admin-port", "8080"),
    )
    assert found == {
        "num.partitions": "5",
        "log.dirs": "here",
        "listeners": "PLAINTEXT://0.0.0.0:0",
        "odradek.admin.port": "8080",
    }


def test_without_listeners_a_port_is_on_loopback() -> None:
    assert properties_of("--port", "9093") == {"listeners": "PLAINTEXT://127.0.0.1:9093"}


def test_a_port_is_that_of_the_first_listener_for_clients() -> None:
    found = properties_of(
        *("--set", "listeners=CONTROLLER://:9093, PLAINTEXT://:9092,INSIDE://:9094"),
        *("--set", "controller.listener.names=CONTROLLER", "--port", "0"),
    )
    assert found["listeners"] == "CONTROLLER://:9093,PLAINTEXT://:0,INSIDE://:9094"


def test_the_port_is_that_of_the_first_listener_for_clients() -> None:
    given = (
        *("--set", "listeners=BROKERS://:9093,PLAINTEXT://:9092"),
        *("--set", "inter.broker.listener.name=brokers", "--port", "7"),
    )
    alone, clustered = "BROKERS://:7,PLAINTEXT://:9092", "BROKERS://:9093,PLAINTEXT://:7"
    assert properties_of(*given)["listeners"] == alone, "a broker that is alone serves clients on both"
    assert properties_of(*given, "--brokers", "3")["listeners"] == clustered
    assert properties_of(*given, "--set", "zookeeper.connect=zk:2181")["listeners"] == clustered


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--set", "novalue"], "--set takes name=value, not 'novalue'"),
        (["--port", "70000"], "--port is a whole number from 0 to 65,535, not '70000'"),
        (
            ["--config", "no/such/file"],
            "cannot read the settings file no/such/file: no such file or directory$",
        ),
    ],
)
def test_wrong_options_are_refused_in_a_sentence(arguments: list[str], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        properties_of(*arguments)


def test_a_bad_setting_ends_with_code_2_and_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--set", "num.partitions=none"]) == 2
    assert capsys.readouterr().err == "odradek: num.partitions must be a whole number, not 'none'\n"


@pytest.mark.parametrize("given", ["log.dirs=", "log.dir= , "])
def test_no_log_directory_at_all_is_refused(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It was a traceback, also for a settings file that has the name and no value."""
    assert run(["serve", "--set", given]) == 2
    assert capsys.readouterr().err == "odradek: log.dirs must hold at least one\n"


def test_faults_need_the_listener_that_takes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--data-dir", str(tmp_path / "data"), "--test-faults"]) == 2
    said = "odradek: --test-faults needs the admin listener: give --admin-port too\n"
    assert capsys.readouterr().err == said
    assert not (tmp_path / "data").exists()


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--brokers", "3"]], ids=["broker", "cluster"])
def test_an_end_that_cannot_be_waited_for_is_refused_in_a_sentence(
    tmp_path: Path, options: list[str]
) -> None:
    """It ended in a traceback: the end of /dev/null, or of a file, cannot be waited for."""
    command = [sys.executable, "-m", "odradek", "serve", "--port", "0", "--data-dir", str(tmp_path / "data")]
    done = subprocess.run(
        [*command, "--until-eof", *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "odradek: --until-eof needs a pipe or a terminal as its standard input\n"
    assert not (tmp_path / "data").exists()
