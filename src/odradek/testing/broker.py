"""A broker for tests: the real one, on a free port of this machine, for any Kafka client.

    with Broker() as broker:
        Producer({"bootstrap.servers": broker.bootstrap_servers})
        broker.clock.advance(days=8)

By default the broker runs on its own thread in this process, and the test can move its clock. With
`process=True` it runs as users run it: in a separate process, on real time. Everything else is the same.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
import weakref
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self
from weakref import WeakSet

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, OdradekError
from odradek.base.ids import NO_BROKER, BrokerId
from odradek.testing.client_verbs import ClientVerbs
from odradek.testing.faults import Faults
from odradek.testing.host import SUBJECTS, BrokerNotRunning, Host
from odradek.testing.machine_clock import MachineClock
from odradek.testing.setting_texts import SettingValue, broker_layers, setting_texts
from odradek.testing.thread_host import ThreadHost
from odradek.testing.tracebacks import ends_at_caller
from odradek.testing.virtual_clock import VirtualClock

if TYPE_CHECKING:  # imported when a test first needs them: a broker starts sooner
    from odradek.server.admin.position_watch import Ask
    from odradek.testing.asynchronous import AsyncVerbs
    from odradek.testing.broker_process import BrokerProcess
    from odradek.testing.process_host import ProcessHost

TEST_SETTINGS: Final[Mapping[str, SettingValue]] = {
    "group.initial.rebalance.delay.ms": 0,
    # A polling loop would compete with the test for Python's lock.
    "odradek.loop.spin.max.us": 0,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
}
"""The defaults that differ from Kafka's. The only difference that a client can notice: a new group does not
wait three seconds before its first rebalance."""

_ON_REAL_TIME: Final = "a broker in a process of its own runs on real time"


class HasLog(Protocol):
    """A broker or a cluster that keeps its log."""

    def log_mark(self) -> int:
        """Where the log ends now, for `log_text`."""
        ...

    def log_text(self, since: int = 0) -> str:
        """What was logged since a mark."""
        ...


WITH_LOGS: Final[WeakSet[HasLog]] = WeakSet()
"""Brokers in separate processes, and clusters; the report of a failed test shows their logs."""


class Broker(ClientVerbs):
    """One broker: a `with` block starts it and removes it at the end; or call `start` and `close`.

    Invariant: the port and the data stay the same from the first `start` to `close`.
    """

    @ends_at_caller
    def __init__(
        self,
        *,
        process: bool = False,
        settings: Mapping[str, SettingValue] | None = None,
        data_dir: Path | None = None,
        clock: VirtualClock | None = None,
        follow_patched_time: bool = False,
    ) -> None:
        """`settings` are Kafka's broker settings by name. `close` keeps a `data_dir` passed here.

        With `follow_patched_time` the broker takes the time of day that freezegun or time-machine has set.
        Raises SettingError for an unknown setting and for an invalid value. Raises OdradekError for `process`
        together with a clock: a separate process runs on real time.
        """
        if process and (clock or follow_patched_time):
            raise OdradekError(
                f"{_ON_REAL_TIME}: process=True cannot be combined with clock or follow_patched_time"
            )
        self.settings: Mapping[str, str] = {**setting_texts({**TEST_SETTINGS, **(settings or {})})}
        """The settings that were passed, as a settings file spells them."""
        broker_layers(self.settings)
        self._in_process = not process
        self._given_data_dir = data_dir
        self._clock = clock or VirtualClock(MachineClock(follows_patched_time=follow_patched_time))
        # Where the broker runs, and its other files on disk; None before the first start and after `close`.
        self._host: Host | None = None
        # The same host while the broker runs in a separate process.
        self._process_host: ProcessHost | None = None
        self._scratch: _Scratch | None = None
        # Whether faults were set since they were last cleared, and whether a full disk was one of them.
        self._has_had_faults = False
        self._has_had_full_disk = False
        # The broker's log as last read; kept after `close`.
        self._log_text = ""

    # --- where it is

    @property
    @ends_at_caller
    def bootstrap_servers(self) -> str:
        """host:port for clients, also while stopped. Raises BrokerNotRunning before the first start."""
        return self._started.bootstrap_servers

    @property
    @ends_at_caller
    def admin_address(self) -> str | None:
        """host:port of the admin listener, which a broker in a separate process has; None without one."""
        return self._started.admin_address

    @property
    @ends_at_caller
    def clock(self) -> VirtualClock:
        """The clock of a broker in this process. Raises OdradekError for one in a separate process."""
        if not self._in_process:
            raise OdradekError(f"{_ON_REAL_TIME}: its clock cannot be moved; start it without process=True")
        return self._clock

    @property
    def is_running(self) -> bool:
        """Whether the broker runs: it was started, and has not been stopped or killed and has not failed."""
        return self._host is not None and self._host.is_running

    @property
    @ends_at_caller
    def process(self) -> BrokerProcess:
        """The process of a broker started with `process=True`. Raises OdradekError for any other."""
        if self._process_host is None:
            raise OdradekError("the broker has no process of its own, or was not started yet")
        return self._process_host.process

    def log_mark(self) -> int:
        """See `HasLog.log_mark`."""
        return len(self.log_text())

    def log_text(self, since: int = 0) -> str:
        """The log of a broker in a separate process; a broker in this process logs through `logging`."""
        scratch = self._scratch
        if not self._in_process and scratch is not None and scratch.log_path.exists():
            self._log_text = scratch.log_path.read_text(encoding="utf-8", errors="replace")
        return self._log_text[since:]

    def __repr__(self) -> str:
        kind = "a broker in this process" if self._in_process else "a broker in a process of its own"
        state = "not running"
        if self.is_running:
            pid = "" if self._in_process else f", pid {self.process.pid}"
            state = f"on {self.bootstrap_servers}{pid}"
        return f"<{kind}, {state}>"

    # --- life

    @ends_at_caller
    def start(self) -> None:
        """Start the broker, or start it again after `stop` or `kill`; returns when clients can connect.

        Does nothing while the broker runs. Raises DataDirectoryError or OdradekError if it cannot start.
        """
        if self.is_running:
            return
        is_first = self._host is None
        host = self._host or self._make_host()
        try:
            host.start()
        except BaseException:
            if is_first:
                self.close()
            raise

    @ends_at_caller
    def stop(self) -> None:
        """Stop the broker cleanly; its port is closed until `start`. Does nothing while it is stopped."""
        if self.is_running:
            self._started.stop()

    @ends_at_caller
    def restart(self) -> None:
        """`stop` and `start`."""
        self.stop()
        self.start()

    @ends_at_caller
    def kill(self) -> None:
        """End the broker as `kill -9` does: pending requests get no answer; `start` recovers the logs."""
        self._running.kill()

    @ends_at_caller
    def pause(self) -> None:
        """Suspend the broker as SIGSTOP does: until `resume` connections stay, nothing is answered."""
        self._running.pause()

    @ends_at_caller
    def resume(self) -> None:
        """Continue after `pause`."""
        self._running.resume()

    def close(self) -> None:
        """Stop the broker for good and remove its temporary files."""
        host, scratch = self._host, self._scratch
        self.log_text()
        self._host = self._process_host = self._scratch = None
        try:
            if host is not None and host.is_running:
                # Its files are removed next, so a clean stop is not needed.
                host.kill() if self._given_data_dir is None else host.stop()
        finally:
            if scratch is not None:
                scratch.remove()

    @ends_at_caller
    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- what is in it

    @ends_at_caller
    def create_topic(
        self,
        name: str | None = None,
        *,
        partitions: int = 1,
        configs: Mapping[str, SettingValue] | None = None,
    ) -> str:
        """Create a topic, by default under a new name; returns the name as soon as the topic is usable."""
        from odradek.client.core.admin.topics import NewTopic

        topic = name or f"topic-{uuid.uuid4().hex[:12]}"
        self._create_topic(NewTopic(topic, partitions, configs=setting_texts(configs or {})))
        return topic

    @ends_at_caller
    def discard_topic(self, name: str) -> None:
        """Delete a topic if it exists; does nothing while the broker is not running."""
        if not self.is_running:
            return
        self.resume()
        self.clear_faults()
        try:
            self.delete_topic(name)
        except ApiError as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise

    @ends_at_caller
    def describe(self, subject: str) -> list[dict[str, Any]]:
        """The rows of one subject of /describe: "purgatories", "groups", "partitions", "connections", ...

        Raises OdradekError for another subject, with those that there are.
        """
        if subject not in SUBJECTS:
            raise OdradekError(
                f"there is nothing to describe under {subject}; subjects are {', '.join(SUBJECTS)}"
            )
        return self._running.describe(subject)

    # --- faults and coroutines

    @property
    def faults(self) -> Faults:
        """The faults that a test can set on this broker; see `Faults`."""
        return Faults(self._fault)

    @ends_at_caller
    def clear_faults(self) -> None:
        """Remove all faults; a broker that is not running has none.

        One whose disk was full may be about to end, so it is stopped and started.
        """
        if self.is_running:
            if self._has_had_full_disk:
                self._started.stop()
                self._started.start()
            elif self._has_had_faults:
                self.faults.clear()
        self._has_had_faults = self._has_had_full_disk = False

    @property
    def aio(self) -> AsyncVerbs:
        """The same methods, as coroutines."""
        from odradek.testing.asynchronous import AsyncVerbs

        return AsyncVerbs(self)

    async def __aenter__(self) -> Self:
        await self.aio.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aio.close()

    # --- within

    def _fault(self, document: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a document of JSON
        answer = self._running.fault(document)
        self._has_had_faults = True
        self._has_had_full_disk |= document.get("fault") == "full_disk"
        return answer

    def _fault_asks(self) -> Mapping[BrokerId, Ask]:
        return {NO_BROKER: self._running.fault} if self.is_running else {}

    def _servers(self) -> str:
        self._running  # noqa: B018 - raises BrokerNotRunning; a connection would only be refused
        return self.bootstrap_servers

    def _now_ms(self) -> int:
        return self._clock.wall_ms() if self._in_process else MachineClock().wall_ms()

    @property
    def _started(self) -> Host:
        if self._host is None:
            raise BrokerNotRunning("the broker was not started yet, or is closed")
        return self._host

    @property
    def _running(self) -> Host:
        host = self._started
        if not host.is_running:
            raise BrokerNotRunning("the broker is not running: it was stopped or killed, or it has failed")
        return host

    def _make_host(self) -> Host:
        scratch = self._scratch = _Scratch()
        data_dir = self._given_data_dir or scratch.data_dir
        if self._in_process:
            self._host = ThreadHost(
                data_dir, self.settings, self._clock, durable=self._given_data_dir is not None
            )
        else:
            from odradek.testing.process_host import ProcessHost

            self._host = self._process_host = ProcessHost(data_dir, self.settings, scratch.log_path)
            WITH_LOGS.add(self)
        return self._host


class _Scratch:
    """A temporary directory, removed by `remove`, or at the end of the process at the latest."""

    def __init__(self) -> None:
        self._path = Path(tempfile.mkdtemp(prefix="odradek-"))
        self.data_dir = self._path / "data"
        self.log_path = self._path / "broker.log"
        self.remove = weakref.finalize(self, shutil.rmtree, self._path, ignore_errors=True)
