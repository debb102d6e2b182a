"""The base install: a broker and the fixture, and one sentence for each feature that needs an extra."""

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.base.errors import OdradekError
from odradek.cli.main import MODULES
from odradek.testing import Broker

ODRADEK = Path(sys.executable).parent / "odradek"


@pytest.mark.parametrize(
    "module", ["typer", "rich", "aiokafka", "starlette", "uvicorn", "prometheus_client", "pyspark"]
)
def test_no_library_of_an_extra_comes_with_it(module: str) -> None:
    assert importlib.util.find_spec(module) is None


def test_the_package_is_the_wheels() -> None:
    import odradek

    assert Path(odradek.__file__).is_relative_to(sys.prefix)
    assert Path(odradek.__file__).with_name("py.typed").exists()


def test_the_command_line_needs_no_extra(odradek_broker: Broker) -> None:
    server = ("--bootstrap-server", odradek_broker.bootstrap_servers)
    for arguments in (("create", "payments", "--partitions", "3"), ("describe", "payments")):
        done = subprocess.run(
            [ODRADEK, "topics", *arguments, *server], capture_output=True, text=True, check=True
        )
        assert "payments" in done.stdout


def test_every_command_has_help() -> None:
    for command in MODULES:
        done = subprocess.run([ODRADEK, command, "--help"], capture_output=True, text=True, check=True)
        assert done.stdout.startswith(f"Usage: odradek {command} ")


def test_the_admin_listener_names_its_extra(tmp_path: Path) -> None:
    command = [ODRADEK, "serve", "--port", "0", "--admin-port", "0", "--data-dir", tmp_path / "data"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'odradek[admin]'" in done.stderr
    assert not (tmp_path / "data").exists()


def test_a_fault_of_a_broker_in_another_process_names_the_extra() -> None:
    with Broker(process=True) as broker, pytest.raises(OdradekError) as refused:
        broker.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER")
    assert str(refused.value) == (
        "asking a broker in another process for /test/faults needs prometheus_client, starlette, uvicorn,"
        " which the extra 'admin' brings: pip install 'odradek[admin]'"
    )


def test_spark_names_its_extra() -> None:
    with pytest.raises(
        ModuleNotFoundError, match=r"needs .*pyspark, which the extra 'spark' brings: pip install"
    ):
        importlib.import_module("odradek.spark.session")


def test_a_broker_serves_and_stops(tmp_path: Path) -> None:
    command = [ODRADEK, "serve", "--port", "0", "--data-dir", tmp_path / "data"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        assert "listening on" in broker.stdout.readline()
        broker.terminate()
        assert broker.wait(60) == 0
