"""A broker on a thread of the test's process, with a clock that the test can move."""

import logging
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from odradek.base.errors import OdradekError
from odradek.base.settings import BrokerSettings
from odradek.metadata.store import StoreEngine
from odradek.server.admin.descriptions import describe
from odradek.server.process.broker_thread import BrokerThread
from odradek.server.process.embedded_store import open_embedded_engine
from odradek.storage.faulty_files import FaultyFileSystem
from odradek.testing.host import BrokerNotRunning
from odradek.testing.setting_texts import broker_layers
from odradek.testing.standstill import Standstill
from odradek.testing.virtual_clock import VirtualClock

# How long the test's thread may hold Python's lock while the broker's thread waits for it; Python's default
# of 5 ms would be most of a round trip.
SWITCH_INTERVAL_S: Final = 0.0002


class ThreadHost:
    """See `Host`."""

    def __init__(
        self,
        data_dir: Path,
        settings: Mapping[str, str],
        clock: VirtualClock,
        *,
        durable: bool,
        thread_name: str = "odradek-broker",
    ) -> None:
        """Without `durable` the broker never syncs its files: for a temporary directory."""
        _log_errors_only()
        self._settings = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(data_dir), **settings}
        self._clock = clock
        self._durable = durable
        self._thread_name = thread_name
        self._thread: BrokerThread | None = None
        self._files = FaultyFileSystem(time.sleep, durable=durable)
        self._bootstrap_servers = ""
        self._standstill = Standstill()

    @property
    def is_running(self) -> bool:
        """See `Host.is_running`."""
        return self._thread is not None and self._thread.is_running

    @property
    def bootstrap_servers(self) -> str:
        """See `Host.bootstrap_servers`."""
        return self._bootstrap_servers

    @property
    def admin_address(self) -> str | None:
        """See `Host.admin_address`."""
        admin = self.thread.broker.admin
        return None if admin is None else admin.address

    @property
    def thread(self) -> BrokerThread:
        """The thread of the running broker. Raises BrokerNotRunning."""
        if self._thread is None or not self._thread.is_running:
            failure = "" if self._thread is None else self._thread.failure
            raise BrokerNotRunning(f"the broker is not running{failure and f': {failure}'}")
        return self._thread

    def start(self) -> None:
        """See `Host.start`."""
        if self._thread is not None:
            self._end()  # it has failed
        self._files = FaultyFileSystem(time.sleep, durable=self._durable)
        thread = BrokerThread(
            broker_layers(self._settings),
            clock=self._clock,
            file_system=self._files,
            open_engine=self._open_engine,
            takes_faults=True,
            thread_name=self._thread_name,
        )
        thread.start()
        self._thread = thread
        self._bootstrap_servers = thread.bootstrap_servers
        self._settings["listeners"] = thread.run(
            lambda: ",".join(f"{one.name}://{one}" for one in thread.broker.shell.listeners.bound)
        )
        self._clock.drive(thread.timer, thread.run)
        _QUICK_SWITCHING.begin()

    def stop(self) -> None:
        """See `Host.stop`."""
        self._end()

    def kill(self) -> None:
        """See `Host.kill`."""
        self._end(is_crash=True)

    def pause(self) -> None:
        """See `Host.pause`: the broker's only thread blocks."""
        self._standstill.begin(self.thread.submit)

    def resume(self) -> None:
        """See `Host.resume`."""
        self._standstill.end()

    def fault(self, document: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a document of JSON
        """See `Host.fault`."""
        thread = self.thread
        return thread.run(lambda: thread.broker.faults.carry_out(dict(document)))

    def describe(self, subject: str) -> list[dict[str, Any]]:
        """See `Host.describe`."""
        thread = self.thread

        def rows() -> list[dict[str, Any]] | None:
            found = describe(thread.broker.view, subject)
            return None if found is None else [dict(row) for row in found]

        told = thread.run(rows)
        if told is None:
            raise OdradekError(f"there is nothing to describe under {subject}")
        return told

    def _open_engine(self, settings: BrokerSettings) -> StoreEngine:
        return open_embedded_engine(settings, durable=self._durable)

    def _end(self, *, is_crash: bool = False) -> None:
        thread = self._thread
        assert thread is not None, "the broker was not started"
        self.resume()
        self._clock.release()
        self._thread = None
        try:
            if is_crash:
                thread.kill(self._files.end)
            else:
                thread.stop()
        finally:
            _QUICK_SWITCHING.end()


class _QuickSwitching:
    """Holds Python's switch interval at SWITCH_INTERVAL_S while a broker runs on a thread of this process.

    Several may run, and end in any order: the last one restores what was set before the first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._brokers = 0
        self._before_s = 0.0

    def begin(self) -> None:
        """A broker has started."""
        with self._lock:
            if not self._brokers:
                self._before_s = sys.getswitchinterval()
                sys.setswitchinterval(SWITCH_INTERVAL_S)
            self._brokers += 1

    def end(self) -> None:
        """A broker that had started has ended."""
        with self._lock:
            self._brokers -= 1
            if not self._brokers:
                sys.setswitchinterval(self._before_s)


_QUICK_SWITCHING: Final = _QuickSwitching()


def _log_errors_only() -> None:
    """Log only errors to reports and standard error, unless the test set a level."""
    log = logging.getLogger("odradek")
    if log.level == logging.NOTSET:
        log.setLevel(logging.ERROR)
