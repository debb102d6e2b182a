"""Starts that must not be: each says why in one sentence, ends with code 2 and changes nothing on disk."""

import os
import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from odradek.testing.broker_process import BrokerProcess
from tests.integration.processes import NewProcess, Serve

pytestmark = [pytest.mark.slow, pytest.mark.integration]


def picture(directory: Path) -> dict[str, tuple[bytes, int]]:
    """Everything below a directory: content, and when it was changed."""
    return {
        str(path.relative_to(directory)): (
            path.read_bytes() if path.is_file() else b"",
            path.stat().st_mtime_ns,
        )
        for path in sorted(directory.rglob("*"))
    }


def assert_refused(found: "CompletedProcess[str]", sentence: str) -> None:
    assert (found.returncode, found.stderr, found.stdout) == (2, f"odradek: {sentence}\n", "")


@pytest.fixture
def used_dir(new_process: NewProcess, tmp_path: Path) -> Path:
    """A data directory that a broker has used and left cleanly."""
    broker = new_process()
    broker.start()
    assert broker.stop() == 0
    return broker.data_dir


@pytest.mark.parametrize("option", ["--port", "--admin-port"])
def test_a_port_in_use(serve: Serve, used_dir: Path, tmp_path: Path, option: str) -> None:
    before = picture(used_dir)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for data_dir in (tmp_path / "new", used_dir):
            found = serve("--port", "0", "--data-dir", data_dir, option, str(port))
            assert_refused(found, f"cannot listen on 127.0.0.1:{port}: address already in use")
    assert picture(used_dir) == before
    assert not (tmp_path / "new").exists()


@pytest.fixture
def paused(new_process: NewProcess) -> Iterator[BrokerProcess]:
    """A running broker that holds its directory and, for now, does nothing with it."""
    running = new_process()
    running.start()
    os.kill(running.pid, signal.SIGSTOP)
    yield running
    os.kill(running.pid, signal.SIGCONT)


def test_a_data_directory_in_use_by_another_broker(serve: Serve, paused: BrokerProcess) -> None:
    before = picture(paused.data_dir)
    found = serve("--port", "0", "--data-dir", paused.data_dir)
    assert_refused(found, f"the metadata file {paused.data_dir}/metadata.db is in use by another broker")
    assert picture(paused.data_dir) == before


def test_a_log_directory_of_a_running_broker(serve: Serve, paused: BrokerProcess, tmp_path: Path) -> None:
    mine, before = tmp_path / "mine", picture(paused.data_dir)
    found = serve("--port", "0", "--set", f"log.dirs={mine},{paused.data_dir}")
    assert found.returncode == 2
    assert f"whose metadata file {mine}/metadata.db does not exist" in found.stderr
    assert picture(paused.data_dir) == before
    assert not mine.exists()


def test_a_directory_of_another_cluster(serve: Serve, used_dir: Path) -> None:
    meta = used_dir / "meta.properties"
    ours = next(line for line in meta.read_text().splitlines() if line.startswith("cluster.id="))
    meta.write_text(meta.read_text().replace(ours, "cluster.id=AAAAAAAAAAAAAAAAAAAAAA"))
    before = picture(used_dir)
    found = serve("--port", "0", "--data-dir", used_dir)
    assert_refused(
        found,
        f"{used_dir} belongs to cluster AAAAAAAAAAAAAAAAAAAAAA, the metadata file {used_dir}/metadata.db"
        f" to cluster {ours.partition('=')[2]}",
    )
    assert picture(used_dir) == before


def test_a_directory_whose_metadata_is_elsewhere(serve: Serve, used_dir: Path, tmp_path: Path) -> None:
    """Such as one of Apache Kafka's: a broker that founded a cluster here would call its logs strangers."""
    strange = tmp_path / "strange"
    strange.mkdir()
    shutil.copy(used_dir / "meta.properties", strange)
    before = picture(strange)
    found = serve("--port", "0", "--data-dir", strange)
    assert found.returncode == 2
    assert f"whose metadata file {strange}/metadata.db does not exist" in found.stderr
    assert picture(strange) == before


def test_logs_without_meta_properties(serve: Serve, tmp_path: Path) -> None:
    """Such as those of an Apache Kafka whose file was left behind when its directory was copied."""
    strange = tmp_path / "strange"
    for name in ("flights-0", "flights-1"):
        (strange / name).mkdir(parents=True)
        (strange / name / "00000000000000000000.log").write_bytes(b"")
    before = picture(strange)
    found = serve("--port", "0", "--data-dir", strange)
    assert_refused(
        found,
        f"{strange} holds flights-0, flights-1 but no meta.properties that says whose they are: put that file"
        " back, or name an empty directory",
    )
    assert picture(strange) == before


def test_a_directory_of_another_broker(serve: Serve, used_dir: Path) -> None:
    before = picture(used_dir)
    found = serve("--port", "0", "--data-dir", used_dir, "--set", "node.id=7")
    assert_refused(found, f"{used_dir} belongs to broker 0, this is broker 7")
    assert picture(used_dir) == before


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("meta.properties", b"garbage", "meta.properties has version '', only 0 and 1 are known"),
        ("meta.properties", b"version=9\n", "meta.properties has version '9', only 0 and 1 are known"),
        ("metadata.db", b"garbage", "metadata.db cannot be used: file is not a database"),
    ],
)
def test_a_directory_that_cannot_be_understood(
    serve: Serve, used_dir: Path, file: str, content: bytes, sentence: str
) -> None:
    (used_dir / file).write_bytes(content)
    before = picture(used_dir)
    found = serve("--port", "0", "--data-dir", used_dir)
    assert found.returncode == 2
    assert found.stderr.endswith(f"{sentence}\n")
    assert found.stderr.count("\n") == 1
    assert picture(used_dir) == before


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("num.partitions=many", "num.partitions must be a whole number, not 'many'"),
        ("num.partitions", "--set takes name=value, not 'num.partitions'"),
        ("listeners=here", "listeners: a listener is written NAME://host:port, not 'here'"),
        (
            "authorizer.class.name=example.Authorizer",
            "authorizer.class.name cannot be set: no authorizer is served yet, and everybody could do "
            "everything; remove it where all who reach the listeners may do everything",
        ),
        ("listeners=SSL://127.0.0.1:0", "the listener SSL uses SSL; only PLAINTEXT is supported yet"),
        (
            "listeners=PLAINTEXT://192.0.2.1:0",
            "cannot listen on 192.0.2.1:0: cannot assign requested address",
        ),
    ],
)
def test_a_bad_setting(serve: Serve, tmp_path: Path, setting: str, sentence: str) -> None:
    found = serve("--data-dir", tmp_path / "new", "--set", setting)
    assert_refused(found, sentence)
    assert not (tmp_path / "new").exists()


def test_a_settings_file_that_is_not_there(serve: Serve, tmp_path: Path) -> None:
    found = serve("--data-dir", tmp_path / "new", "--config", tmp_path / "server.properties")
    assert found.returncode == 2
    assert found.stderr.startswith("odradek: cannot read the settings file ")
    assert not (tmp_path / "new").exists()


def test_a_file_where_the_data_directory_should_be(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"mine")
    found = serve("--port", "0", "--data-dir", tmp_path / "file")
    assert_refused(found, f"cannot make the directory {tmp_path}/file: file exists")
    assert (tmp_path / "file").read_bytes() == b"mine"


def test_a_first_start_is_not_called_unclean(new_process: NewProcess) -> None:
    broker = new_process()
    broker.start()
    assert broker.stop() == 0
    assert "not stopped cleanly" not in broker.log_path.read_text()


def test_log_directories_in_another_order(serve: Serve, used_dir: Path, tmp_path: Path) -> None:
    """The first of them holds the metadata file."""
    other = tmp_path / "other"
    shutil.copytree(used_dir, other)
    (other / "metadata.db").unlink()
    (used_dir / "meta.properties").unlink()
    before = picture(other)
    found = serve("--port", "0", "--set", f"log.dirs={other},{used_dir}")
    assert found.returncode == 2
    assert f"whose metadata file {other}/metadata.db does not exist" in found.stderr
    assert (
        f"(there is one in {used_dir}: name that directory first, or set odradek.metadata.file)"
        in found.stderr
    )
    assert picture(other) == before


def test_a_log_directory_under_two_names(serve: Serve, used_dir: Path, tmp_path: Path) -> None:
    link, new, new_link = tmp_path / "link", tmp_path / "new", tmp_path / "new link"
    link.symlink_to(used_dir)
    new.mkdir()
    new_link.symlink_to(new)
    before = picture(used_dir)
    found = serve("--port", "0", "--set", f"log.dirs={used_dir},{link}")
    assert found.returncode == 2
    assert f"{used_dir} and {link} have the same directory.id" in found.stderr
    assert "name only one of them in log.dirs" in found.stderr
    assert picture(used_dir) == before
    found = serve("--port", "0", "--set", f"log.dirs={new},{new_link}")
    assert_refused(found, f"{new_link} is in use by another broker, or is the same directory as {new}")
