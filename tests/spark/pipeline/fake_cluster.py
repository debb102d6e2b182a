"""A Spark session on a cluster, whose tasks run in this process."""

from collections.abc import Callable, Iterator
from typing import Any

MASTER = "spark://host:7077"


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
        self.driver = Executor(0)
        self.active_jobs = [1]
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
        return [self.driver, *self.executors]

    def getActiveJobIds(self) -> list[int]:  # noqa: N802
        return self.active_jobs

    def env(self) -> "FakeContext":
        return self

    def blockManager(self) -> "FakeContext":  # noqa: N802
        return self

    def blockManagerId(self) -> "FakeContext":  # noqa: N802
        return self

    def hostPort(self) -> str:  # noqa: N802
        return f"{self.driver.host()}:{self.driver.port()}"

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
