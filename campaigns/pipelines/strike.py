"""One kill at its moment, beside a run that goes on."""

import time
from pathlib import Path
from threading import Event, Thread

from campaigns.pipelines.moments import QUERY, Moment, is_in_query
from campaigns.pipelines.victims import Victim
from odradek.spark.pipeline.engine import Step

_POLL_S = 0.005


class Strike:
    """Kills a victim once; the process that runs the pipeline tells its steps by `reached`."""

    def __init__(self, moment: Moment, victim: Victim, ledger: Path) -> None:
        """`ledger` is the directory of the pipeline's batches."""
        self._moment = moment
        self._victim = victim
        self._ledger = ledger
        self._thread: Thread | None = None
        self._ended = Event()
        self._killed = ""

    def reached(self, step: str) -> None:
        """The run is at this step, and goes on when this returns."""
        awaited = Step.STAGED.name if self._moment.name == QUERY else self._moment.name
        if step != awaited or self._thread is not None:
            return
        is_now = self._moment.name != QUERY and self._moment.after_ms == 0
        if is_now:
            self._killed = self._victim.kill()
        self._thread = Thread(target=self._victim.mend if is_now else self._later)
        self._thread.start()

    def end(self) -> str:
        """The run is over; returns what was killed, "" for nothing. All that was killed is there again."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        return self._killed

    def _later(self) -> None:
        while self._moment.name == QUERY and not is_in_query(self._ledger):
            if self._ended.is_set():
                return
            time.sleep(_POLL_S)
        if self._ended.wait(self._moment.after_ms / 1000):
            return
        self._killed = self._victim.kill()
        self._victim.mend()
