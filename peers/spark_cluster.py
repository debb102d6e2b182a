"""Spark's standalone cluster on loopback: a master and workers that know nothing of this project.

Each worker has a directory and an environment of its own, in which `python3` is an interpreter with Spark,
pyarrow and numpy, and without Odradek: what tasks import of it was brought to them.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Self

from peers.process import HOST, children_of
from peers.waiting import wait_until

EXECUTOR_MODULES: Final = ("pyarrow", "numpy")
EXECUTOR_MEMORY: Final = "512m"
_URL: Final = re.compile(r"Starting Spark master at (spark://\S+)")
_DAEMON: Final = {
    "SPARK_LOCAL_IP": HOST,
    "SPARK_DAEMON_MEMORY": "192m",
    "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


class SparkCluster:
    """A master and `workers` workers of one core each, as a `with` block, whose end kills all of them."""

    def __init__(self, directory: Path, java_home: Path, workers: int = 2) -> None:
        self._directory = directory
        self._java_home = java_home
        self._workers = workers
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.url = ""

    def worker(self, number: int) -> int:
        """The process id of a worker; they count from 1."""
        return self._processes[f"worker-{number}"].pid

    def executors_of(self, number: int) -> list[int]:
        """The process ids of the executors that a worker runs now."""
        return children_of(self.worker(number))

    def kill_executors(self, number: int) -> None:
        """Kill -9 of the executors of a worker, which starts others."""
        for pid in self.executors_of(number):
            with contextlib.suppress(ProcessLookupError):  # its application has just ended
                os.kill(pid, signal.SIGKILL)

    def kill_worker(self, number: int) -> None:
        """Kill -9 of a worker and its executors, as by the end of its machine."""
        for pid in [self.worker(number), *self.executors_of(number)]:
            os.kill(pid, signal.SIGKILL)
        self._processes[f"worker-{number}"].wait()

    def start_workers(self, *numbers: int) -> None:
        """Start these workers, and wait until the master knows all of them. Raises AssertionError."""
        wanted = self._registered() + len(numbers)
        for number in numbers:
            work = self._directory / f"worker-{number}"
            arguments = ["--host", HOST, "--port", "0", "--webui-port", "0", "--cores", "1"]
            arguments += ["--memory", "1g", "--work-dir", str(work), self.url]
            self._start(f"worker-{number}", "worker.Worker", arguments, self._environment(work))
        wait_until(lambda: self._registered() >= wanted, "Spark's workers do not start")

    def __enter__(self) -> Self:
        try:
            arguments = ["--host", HOST, "--port", "0", "--webui-port", "0"]
            self._start("master", "master.Master", arguments, {})
            wait_until(lambda: self._found_url() is not None, "Spark's master does not start")
            self.url = self._found_url() or ""
            self.start_workers(*range(1, self._workers + 1))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for one in reversed(self._processes.values()):
            one.terminate()  # a worker ends its executors
        for one in self._processes.values():
            one.wait()

    def _found_url(self) -> str | None:
        found = _URL.search(self._output("master"))
        return found[1] if found else None

    def _registered(self) -> int:
        return self._output("master").count("Registering worker")

    def _output(self, name: str) -> str:
        file = self._directory / f"{name}.log"
        return file.read_text(errors="replace") if file.is_file() else ""

    def _environment(self, work: Path) -> dict[str, str]:
        """What a worker has: a Python with the modules that executors need, and no others of this one."""
        modules, programs = work / "modules", work / "bin"
        for directory in (modules, programs):
            directory.mkdir(parents=True, exist_ok=True)
        for name in EXECUTOR_MODULES:
            place = _place_of(name)
            for one in (place, place.with_name(f"{name}.libs")):
                link = modules / one.name
                if one.exists() and not link.is_symlink():
                    link.symlink_to(one)
        program = programs / "python3"
        if not program.is_symlink():
            program.symlink_to(_interpreter())
        return {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(modules)}

    def _start(self, name: str, program: str, arguments: list[str], environment: Mapping[str, str]) -> None:
        spark = _place_of("pyspark")
        inherited = {key: value for key, value in os.environ.items() if not _is_private(key)}
        self._directory.mkdir(parents=True, exist_ok=True)
        with (self._directory / f"{name}.log").open("ab") as output:
            self._processes[name] = subprocess.Popen(
                [spark / "bin" / "spark-class", f"org.apache.spark.deploy.{program}", *arguments],
                cwd=self._directory,
                env={
                    **inherited,
                    **_DAEMON,
                    "SPARK_HOME": str(spark),
                    "SPARK_CONF_DIR": str(self._directory),
                    "JAVA_HOME": str(self._java_home),
                    **environment,
                },
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )


def driver_settings() -> dict[str, str]:
    """What a driver on loopback tells Spark, so that such a cluster reaches it and has room for it."""
    return {
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.executor.memory": EXECUTOR_MEMORY,
        "spark.executor.cores": "1",
        "spark.executor.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }


def _place_of(module: str) -> Path:
    found = find_spec(module)
    assert found is not None, module
    assert found.origin is not None, module
    return Path(found.origin).parent


def _interpreter() -> Path:
    """The interpreter that the environment of this process was made from, which has none of its modules."""
    return Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"


def _is_private(name: str) -> bool:
    return name.startswith(("PYTHON", "PYSPARK", "SPARK", "ODRADEK", "VIRTUAL_ENV"))
