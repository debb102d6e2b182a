"""A broker for tests: the real one, on a free port of this machine, for any Kafka client.

    with Broker() as broker:
        Producer({"bootstrap.servers": broker.bootstrap_servers})
        broker.clock.advance(seconds=45)

By default it lives in this process on a thread of its own, and its clock can be moved. With `process=True` it
runs as users run it, in a process of its own and on real time, and can be killed.
"""

import sys
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from odradek.base.settings import SettingLayers
from odradek.client.admin import Admin
from odradek.server.admin.descriptions import describe
from odradek.server.process.broker_thread import BrokerThread
from odradek.testing.broker_process import BrokerProcess
from odradek.testing.virtual_clock import VirtualClock

# How long the test's own thread may compute while the broker's waits; Python's 5 ms would be most of a
# round trip.
SWITCH_INTERVAL_S = 0.0002


class Broker:
    """One broker, started and stopped with `with`, or with `start` and `stop`.

    `settings` are Kafka's broker settings by name; a `data_dir` that is given is kept.
    Raises SettingError, DataDirectoryError or OdradekError when it cannot start.
    """

    def __init__(
        self,
        *,
        process: bool = False,
        settings: Mapping[str, str] | None = None,
        data_dir: Path | None = None,
        clock: VirtualClock | None = None,
    ) -> None:
        self._settings = dict(settings or {})
        self._in_process = not process
        self._given_data_dir = data_dir
        self._clock = clock or VirtualClock()
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._thread: BrokerThread | None = None
        self._process: BrokerProcess | None = None
        self._switch_interval_s = sys.getswitchinterval()

    @property
    def bootstrap_servers(self) -> str:
        """host:port for clients; the broker must run."""
        running = self._thread or self._process
        assert running is not None, "the broker is not running"
        return running.bootstrap_servers

    @property
    def clock(self) -> VirtualClock:
        """The clock of a broker in this process; one in a process of its own has none that could be moved."""
        assert self._in_process, "a broker in a process of its own runs on real time"
        return self._clock

    @property
    def process(self) -> BrokerProcess:
        """The process of a broker started with `process=True`, to be killed or restarted."""
        assert self._process is not None, "the broker is not running in a process of its own"
        return self._process

    def start(self) -> None:
        """Return when clients may connect."""
        data_dir = self._given_data_dir
        if data_dir is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="odradek-")
            data_dir = Path(self._scratch.name)
        try:
            if self._in_process:
                self._start_thread(data_dir)
            else:
                self._process = BrokerProcess(data_dir, settings=self._settings)
                self._process.start()
        except BaseException:
            self._thread = self._process = None
            self._remove_scratch()
            raise

    def stop(self) -> None:
        """Stop cleanly; what was in a temporary directory is gone."""
        try:
            if self._thread is not None:
                self._clock.release()
                self._thread.stop()
                sys.setswitchinterval(self._switch_interval_s)
            elif self._process is not None and self._process.is_running:
                self._process.stop()
        finally:
            self._thread = self._process = None
            self._remove_scratch()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def create_topic(
        self, name: str | None = None, *, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> str:
        """Make a topic, by default with a fresh name, and return its name when it can be used."""
        topic = name or f"topic-{uuid.uuid4().hex[:12]}"
        with Admin(self.bootstrap_servers) as admin:
            admin.create_topic(topic, partitions=partitions, configs=configs or {})
        return topic

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        with Admin(self.bootstrap_servers) as admin:
            admin.delete_topic(name)

    def describe(self, subject: str) -> list[dict[str, Any]]:
        """What a broker in this process shows under /describe: "purgatories", "groups", "compaction", ..."""
        assert self._thread is not None, "only a broker that runs in this process is described from here"
        thread = self._thread
        rows = thread.run(lambda: describe(thread.broker.view, subject))
        assert isinstance(rows, list), f"there is nothing to describe under {subject}"
        return rows

    def _start_thread(self, data_dir: Path) -> None:
        properties = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(data_dir), **self._settings}
        layers, unknown = SettingLayers.from_static(properties)
        assert not unknown, f"no such settings: {', '.join(unknown)}"
        self._thread = BrokerThread(layers, clock=self._clock)
        self._thread.start()
        self._clock.drive(self._thread.timer, self._thread.run)
        self._switch_interval_s = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_INTERVAL_S)

    def _remove_scratch(self) -> None:
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None
