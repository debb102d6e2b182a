"""The loop of every crash campaign: let a load work, kill the broker, start it again, check, repeat.

The load (`Load`) defines its clients and what must hold afterwards.
"""

import logging
import random
import threading
import time
from abc import ABC, abstractmethod
from typing import ClassVar

from odradek.base.errors import OdradekError
from odradek.testing.broker_process import BrokerProcess

SECOND_KILL_PROBABILITY = 0.3
# How long clients may work before a kill, and after it before the check.
BEFORE_S = (0.2, 1.5)
AFTER_S = (0.0, 0.5)
QUIET = {"log_level": 0}
"""For librdkafka, which has much to say about brokers that go away."""
CLIENTS_LOG = logging.getLogger("campaigns.crash.clients")
"""What clients say that are not quiet; a campaign keeps it beside what was on disk."""
CLIENTS_LOG.propagate = False
CLIENTS_LOG.setLevel(logging.DEBUG)
QUICK_RECONNECTS = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100, "retry.backoff.ms": 20}
"""For librdkafka: rounds are short, so clients shall be back soon."""


BUSY_OFFSETS_TOPIC = {
    "offsets.topic.segment.bytes": str(1 << 20),
    "offsets.topic.num.partitions": "5",
    "log.cleaner.backoff.ms": "500",
    "log.cleaner.min.cleanable.ratio": "0.1",
}
"""So that kills meet rolls and compaction of what is checked, and loading reads more than one segment."""


class Broken(Exception):
    """A promise is broken; the message has the first few cases."""


class Load(ABC):
    """What clients do while the broker is killed."""

    broker_settings: ClassVar[dict[str, str]] = {}
    """What makes the broker's rare moments frequent: small segments, short timeouts."""

    def __init__(self, bootstrap: str, chance: random.Random) -> None:
        """The broker runs and is empty."""
        self._bootstrap = bootstrap
        self._chance = chance

    @abstractmethod
    def begin(self) -> None:
        """Clients start to work; they continue while the broker is away."""

    def await_moment(self) -> None:
        """Return at a moment that is good for a kill; by default any moment is."""
        time.sleep(self._chance.uniform(*BEFORE_S))

    @abstractmethod
    def settle(self) -> None:
        """The broker is back: clients come to rest. Raises Broken when they do not."""

    @abstractmethod
    def check(self) -> None:
        """Compare what the broker has with what was promised. Raises Broken."""

    @abstractmethod
    def counted(self) -> dict[str, int]:
        """What happened so far, in numbers."""

    def acknowledged(self) -> int | None:
        """How many promises clients have got so far; None if that is not known while they work."""
        return None

    def errors(self) -> int:
        """How many errors have reached the applications, of those that clients do not mend by themselves."""
        return 0

    def close(self) -> None:
        """End all clients, whether the broker runs or not."""
        return


class Campaign:
    """A broker that is killed and started, and what was counted meanwhile."""

    def __init__(self, broker: BrokerProcess, chance: random.Random) -> None:
        self._broker = broker
        self._chance = chance
        self._report_read = 0  # how much of the broker's stderr has been looked at
        self.kills = 0
        self.cuts = 0

    def run(self, load: Load, kills: int) -> None:
        """Kill and restart the running broker `kills` times. Raises Broken at the first broken promise."""
        try:
            while self.kills < kills:
                load.begin()
                load.await_moment()
                self._crash()
                time.sleep(self._chance.uniform(*AFTER_S))
                load.settle()
                load.check()
                counts = ", ".join(f"{count:,} {name}" for name, count in load.counted().items())
                print(f"kill {self.kills:3}: {counts}", flush=True)
        except Broken as broken:
            print(f"broken after {self.kills} kills: {broken}", flush=True)
            raise
        finally:
            load.close()

    def _crash(self) -> None:
        self._broker.kill()
        self.kills += 1
        if self._chance.random() < SECOND_KILL_PROBABILITY:
            self._kill_while_starting()
        self._broker.start()
        self._read_report()

    def _kill_while_starting(self) -> None:
        """Recovery itself is interrupted, or the first requests after it."""
        starting = threading.Thread(target=self._start_in_vain)
        starting.start()
        time.sleep(self._chance.uniform(0.1, 0.6))
        self._broker.kill()
        starting.join()
        self.kills += 1

    def _start_in_vain(self) -> None:
        try:
            self._broker.start()
        except (OdradekError, ValueError):
            pass  # It was killed before it listened, as intended.

    def _read_report(self) -> None:
        """Every start after a kill must log that; count the torn ends that it reported."""
        text = self._broker.log_path.read_text()
        report, self._report_read = text[self._report_read :], len(text)
        if "was not stopped cleanly" not in report:
            raise Broken(f"the broker did not report its recovery: {report[-2000:]}")
        if "Traceback" in report:
            raise Broken(
                f"the broker logged an unforeseen error: {report[report.index('Traceback') :][:2000]}"
            )
        self.cuts += report.count("was cut at byte")
