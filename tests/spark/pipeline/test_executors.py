"""What is said of executors that cannot do the work; tasks of a fake session run here, or fail."""

import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from odradek.spark.pipeline import executor_look
from odradek.spark.pipeline.executors import Executors, ExecutorsRefused
from tests.spark.pipeline.fake_cluster import MASTER, Executor, FakeContext

HOST = socket.gethostname()
OURS = f"{sys.version_info.major}.{sys.version_info.minor}"


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
    context.executors = context.executors[1:]
    executors.check(tmp_path)
    assert context.jobs == [6, 6]
    assert list(tmp_path.iterdir()) == []


def test_executors_that_are_all_gone_are_waited_for_by_a_look(tmp_path: Path) -> None:
    context = FakeContext()
    executors = Executors(context, "json", ignored)
    executors.check(tmp_path)
    context.executors = []
    executors.check(tmp_path)
    assert context.jobs == [6, 6]


def test_executors_that_only_read_write_nothing(tmp_path: Path) -> None:
    Executors(FakeContext(), "json", ignored).check(None)
    assert list(executor_look.look("", [], [])) == [executor_look.Look(HOST, [], "")]


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


def test_executors_that_are_lost_in_the_middle_of_the_work_are_said() -> None:
    context = FakeContext()
    heard = threading.Event()
    said: list[str] = []

    def warn(sentence: str) -> None:
        said.append(sentence)
        heard.set()

    with Executors(context, "json", warn, wait_s=0.001).watched():
        assert not heard.wait(0.02)
        context.executors = []
        assert heard.wait(60)
    assert said == [f"all executors of {MASTER} are gone: the run waits until it gives it others"]
    context.active_jobs = []
    with Executors(context, "json", ignored, wait_s=0.001).watched():
        assert not threading.Event().wait(0.02)
    with Executors(FakeContext("local[*]"), "json", ignored).watched():
        assert not [one for one in threading.enumerate() if one.name == "executors"]
