"""The executors of a cluster: looked at before they are given work, so that what they lack is said.

A few small tasks look for the modules that ours import, and write into the directory of the batch. They run
again when there are executors that have not been there before, or none any more. How many cores there are is
known then, too. Spark places tasks as it likes, so that an executor may get none: what it lacks then fails
its part of a batch, which is tried elsewhere or given up.

Where all executors are lost in the middle of the work Spark waits for others in silence: a thread says so.
"""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Thread, Timer
from typing import Any, Final

from odradek.base.errors import OdradekError
from odradek.base.extras import MODULES
from odradek.spark.master import is_local
from odradek.spark.pipeline.executor_look import PREFIX, Look, look
from odradek.spark.pipeline.spark_job import sentence_of

WAIT_S: Final = 30.0
"""After that time without an answer it is said what may be the reason."""
_LOOKS_MIN: Final = 4
_PARTS: Final = "spark.sql.shuffle.partitions"
_PARTS_MIN: Final = 2
_OTHER_PYTHON: Final = re.compile(r"Python in worker has different version: ([0-9.]+)")
_NO_PROGRAM: Final = re.compile(r'Cannot run program "([^"]+)"')
_PYTHON: Final = "name it in PYSPARK_PYTHON, or as spark.pyspark.python in [spark.settings]"


class ExecutorsRefused(OdradekError):
    """Executors cannot do the work; the message is a sentence."""


class Executors:
    """Those of one session. A local one has none, and is not looked at."""

    def __init__(
        self, spark: Any, format_name: str, warn: Callable[[str], None], wait_s: float = WAIT_S
    ) -> None:
        """`format_name` is that of the values that tasks decode; `warn` hears what does not end the run."""
        self._spark = spark
        self._context = spark.sparkContext
        self._master = str(self._context.master)
        self._modules = ["numpy", "pyarrow", *(MODULES["avro"] if format_name == "avro" else ())]
        self._warn = warn
        self._wait_s = wait_s
        # The executors that were there at the last look, by their addresses.
        self._seen: set[str] = set()

    def check(self, directory: Path | None) -> None:
        """Look at them, if some are new or none is left. Raises ExecutorsRefused.

        `directory` is empty, that of the batch, and empty again afterwards; None if they write nothing.
        """
        if is_local(self._master):
            return
        there = self._there()
        if there and there <= self._seen:
            return
        try:
            found = self._looked("" if directory is None else str(directory.absolute()))
        finally:
            for tried in directory.glob(f"{PREFIX}*") if directory is not None else ():
                tried.unlink(missing_ok=True)
        for one in found:
            self._refuse(one, directory)
        self._seen |= self._there()
        self._spread()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Say when work waits because all executors are gone, until the end of the block."""
        if is_local(self._master):
            yield
            return
        ended = Event()
        watch = Thread(target=self._watch, args=(ended,), name="executors", daemon=True)
        watch.start()
        try:
            yield
        finally:
            ended.set()
            watch.join()

    def _watch(self, ended: Event) -> None:
        """Warn once of each time without executors that is seen in two looks."""
        looks = 0
        while not ended.wait(self._wait_s):
            looks = looks + 1 if self._is_left_alone() else 0
            if looks == 2:
                self._warn(
                    f"all executors of {self._master} are gone: the run waits until it gives it others"
                )

    def _is_left_alone(self) -> bool:
        try:
            tracker = self._context._jsc.sc().statusTracker()  # noqa: SLF001  # there is no public name for it
            return bool(list(tracker.getActiveJobIds())) and not self._there()
        except Exception:  # py4j's, when the session ends
            return False

    def _spread(self) -> None:
        """Let a shuffle have a part for each core, as in a local session, unless the user has said how many.

        Spark's own 200 make a batch of a stage that keeps state, whose parts are not joined, minutes long.
        """
        if not self._context.getConf().contains(_PARTS):
            self._spark.conf.set(_PARTS, str(max(_PARTS_MIN, int(self._context.defaultParallelism))))

    def _there(self) -> set[str]:
        """Those that are there now, without the driver, which Spark counts among them."""
        context = self._context._jsc.sc()  # noqa: SLF001  # there is no public name for it
        driver = context.env().blockManager().blockManagerId().hostPort()
        tracker = context.statusTracker()
        return {f"{one.host()}:{one.port()}" for one in tracker.getExecutorInfos()} - {str(driver)}

    def _looked(self, directory: str) -> list[Look]:
        tasks = max(_LOOKS_MIN, 2 * int(self._context.defaultParallelism))
        numbers = self._context.parallelize(range(tasks), tasks)
        waiting = Timer(self._wait_s, lambda: self._warn(self._is_slow()))
        waiting.daemon = True
        waiting.start()
        try:
            found: list[Look] = numbers.mapPartitions(partial(look, directory, self._modules)).collect()
        except Exception as error:  # Spark's, py4j's
            raise ExecutorsRefused(self._reason(str(error))) from error
        finally:
            waiting.cancel()
        return found

    def _is_slow(self) -> str:
        return (
            f"no executor of {self._master} has answered for {self._wait_s:.0f} s: it may have no free cores"
            " or memory, or its machines may not reach this one (spark.driver.host in [spark.settings])"
        )

    def _reason(self, text: str) -> str:
        """Why a task that does nothing cannot run, in a sentence."""
        ours = f"{sys.version_info.major}.{sys.version_info.minor}"
        if other := _OTHER_PYTHON.search(text):
            return (
                f"executors of {self._master} run Python {other[1]} and this process {ours}: Spark needs the"
                f" same; {_PYTHON}"
            )
        if program := _NO_PROGRAM.search(text):
            return (
                f"executors of {self._master} have no program {program[1]}: they need Python {ours};"
                f" {_PYTHON}"
            )
        return f"executors of {self._master} cannot run Python: {sentence_of(text)}"

    def _refuse(self, one: Look, directory: Path | None) -> None:
        """Raises ExecutorsRefused for what a task found."""
        if one.lacks:
            raise ExecutorsRefused(
                f"the Python of executors on {one.host} lacks {', '.join(one.lacks)}: install it there, or"
                f" take another Python; {_PYTHON}"
            )
        if one.fault and directory is not None:
            raise ExecutorsRefused(
                f"executors on {one.host} cannot write to {directory.parent} ({one.fault}): with a master"
                " that is not local, sink.path must be a directory that all machines of the cluster share"
            )
