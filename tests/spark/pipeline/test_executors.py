"""What is said of executors that cannot do the work; tasks of a fake session run here, or fail."""

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from odradek.spark.pipeline import executor_look
from odradek.spark.pipeline.executors import Executors, ExecutorsRefused

MASTER = "spark://host:7077"
HOST = socket.gethostname()
OURS = f"{sys.version_info.major}.{sys.version_info.minor}"


class Executor:
    """An executor as Spark's tracker has it."""

    def __init__(self, port: int) -> None:
        self._port = port

    def host(self) -> str:
        return "worker"

    def port(self) -> int:
        return self._port


class Settings(dict[str, str]):
    """What the user has set."""

    def contains(self, name: str) -> bool:
        return name in self


class FakeContext:
    """A SparkContext whose tasks run in this process; counts the jobs."""

    defaultParallelism = 3  # noqa: N815  # Spark's name

    def __init__(self, master: str = MASTER, fail: Callable[[], None] = lambda: None) -> None:
        self.master = master
        self.executors = [Executor(1)]
        self.jobs: list[int] = []
        self._fail = fail
        self._task: Any = None
        # The way from Python to the tracker leads over objects that all of this stands for.
        self._jsc = self
        self.sparkContext = self
        self.conf = self
        self.settings = Settings()
        self.changed: dict[str, str] = {}

    def sc(self) -> "FakeContext":
        return self

    def statusTracker(self) -> "FakeContext":  # noqa: N802
        return self

    def getExecutorInfos(self) -> list[Executor]:  # noqa: N802
        return self.executors

    def getConf(self) -> "Settings":  # noqa: N802
        return self.settings

    def set(self, name: str, value: str) -> None:
        self.changed[name] = value

    def parallelize(self, numbers: range, tasks: int) -> "FakeContext":
        self.jobs.append(tasks)
        return self

    def mapPartitions(self, task: Callable[[Any], Iterator[Any]]) -> "FakeContext":  # noqa: N802
        self._task = task
        return self

    def collect(self) -> list[Any]:
        self._fail()
        return list(self._task([0]))


def fail(text: str) -> Callable[[], None]:
    def raising() -> None:
        raise RuntimeError(text)

    return raising


def ignored(sentence: str) -> None:
    raise AssertionError(sentence)


def test_executors_are_looked_at_once_and_when_new_ones_come(tmp_path: Path) -> None:
    context = FakeContext()
    executors = Executors(context, "json", ignored)
    for _ in range(2):
        executors.check(tmp_path)
    assert context.jobs == [6]
    context.executors = [*context.executors, Executor(2)]
    executors.check(tmp_path)
    assert context.jobs == [6, 6]
    assert list(tmp_path.iterdir()) == []


def test_a_shuffle_has_a_part_for_each_core_unless_the_user_says_how_many(tmp_path: Path) -> None:
    context = FakeContext()
    Executors(context, "json", ignored).check(tmp_path)
    assert context.changed == {"spark.sql.shuffle.partitions": "3"}
    context = FakeContext()
    context.settings["spark.sql.shuffle.partitions"] = "64"
    Executors(context, "json", ignored).check(tmp_path)
    assert context.changed == {}


def test_a_local_session_has_none(tmp_path: Path) -> None:
    context = FakeContext("local[*]")
    Executors(context, "json", ignored).check(tmp_path)
    assert context.jobs == []


def test_a_directory_that_executors_do_not_see(tmp_path: Path) -> None:
    staging = tmp_path / "table" / "staging"
    with pytest.raises(ExecutorsRefused) as refused:
        Executors(FakeContext(), "json", ignored).check(staging)
    assert str(refused.value) == (
        f"executors on {HOST} cannot write to {staging.parent} (no such file or directory): with a master"
        " that is not local, sink.path must be a directory that all machines of the cluster share"
    )


@pytest.mark.parametrize(
    ("form", "lacks"), [("json", "numpy, pyarrow"), ("avro", "numpy, pyarrow, fastavro")]
)
def test_modules_that_executors_lack(
    form: str, lacks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor_look, "find_spec", lambda name: None)
    with pytest.raises(
        ExecutorsRefused, match=f"the Python of executors on {HOST} lacks {lacks}: install it"
    ):
        Executors(FakeContext(), form, ignored).check(tmp_path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker"
            " has different version: 3.9 than that in driver: 3.11, PySpark cannot run with these.",
            f"executors of {MASTER} run Python 3.9 and this process {OURS}: Spark needs the same",
        ),
        (
            'java.io.IOException: Cannot run program "python3.11": error=2, No such file or directory',
            f"executors of {MASTER} have no program python3.11: they need Python {OURS}; name it in PYSPARK",
        ),
        (
            "Job aborted\nModuleNotFoundError: No module named 'pyspark'",
            f"executors of {MASTER} cannot run Python: ModuleNotFoundError: No module named 'pyspark'",
        ),
    ],
)
def test_tasks_that_cannot_run(text: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(ExecutorsRefused) as refused:
        Executors(FakeContext(fail=fail(text)), "json", ignored).check(tmp_path)
    assert str(refused.value).startswith(sentence)


def test_it_is_said_when_no_executor_answers(tmp_path: Path) -> None:
    heard = threading.Event()
    said: list[str] = []

    def warn(sentence: str) -> None:
        said.append(sentence)
        heard.set()

    def answer_late() -> None:
        assert heard.wait(60)

    Executors(FakeContext(fail=answer_late), "json", warn, wait_s=0).check(tmp_path)
    assert len(said) == 1
    assert said[0].startswith(f"no executor of {MASTER} has answered for 0 s: it may have no free cores")
