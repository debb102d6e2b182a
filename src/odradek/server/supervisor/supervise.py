"""`odradek serve --brokers`: several brokers on this machine, their metadata store, and one clean stop.

checks    `preparation`: a refusal has changed nothing on disk
store     served on its socket before a broker is started, closed when no broker is left
brokers   `cluster_states` decides, `processes` carries out
line      one on the standard output, when all brokers serve
"""

import asyncio
import gc
import logging
import re
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from odradek.base.ids import BrokerId
from odradek.base.printing import print_line
from odradek.base.system_errors import reason_of
from odradek.server.process.log_lines import log_to
from odradek.server.process.malloc_arenas import share_one_arena
from odradek.server.process.process_contract import READY, stopping_file
from odradek.server.process.stop_signs import watch_input, watch_signals
from odradek.server.supervisor import cluster_states
from odradek.server.supervisor.broker_settings import cluster_settings
from odradek.server.supervisor.cluster_states import ClusterStates, Effect, Exited
from odradek.server.supervisor.directories import metadata_file
from odradek.server.supervisor.preparation import BrokerOptions, PreparedCluster, prepare
from odradek.server.supervisor.process_states import ProcessState
from odradek.server.supervisor.processes import Processes
from odradek.server.supervisor.store_port import ServedStore, ServeStore

_log = logging.getLogger(__name__)

RETURN_GRACE_MS: Final = 5_000
"""How long a process that is found may take beyond the timeout of its session."""
ASKING_S: Final = 1.0
"""How long a stop waits to be told which broker is the controller."""

_LINE: Final = re.compile(
    re.escape(READY)
    + r"on (?P<opened>.*?)(?:, advertised as (?P<advertised>.*?))?(?:, admin on (?P<admin>.*))?"
)


def supervise(
    properties: Mapping[str, str], count: int, options: BrokerOptions, serve_store: ServeStore
) -> int:
    """Run a cluster of `count` brokers until a signal; returns the exit code, as that of a single broker.

    Prints one line when all brokers serve: `listening on A, B, C`, `, advertised as ...` and `, admin on
    ...` as a single broker does, and `(3 brokers)`. Raises SettingError, and DataDirectoryError before
    anything is changed on disk.
    """
    gc.freeze()
    gc.enable()
    share_one_arena()
    settings = cluster_settings(properties, count)
    log_to(sys.stderr, options.log, process="supervisor")
    for name in settings.not_opened:
        _log.warning("the listener %s is not opened: only KRaft controllers use it", name)
    for warning in settings.warnings:
        _log.warning("%s", warning)
    prepared = prepare(settings, options)
    try:
        # uvloop keeps SIGCHLD for itself, and a quiet process gains nothing from it.
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            return runner.run(_run(prepared, options, serve_store))
    finally:
        prepared.ports.close()
        prepared.lock.release()


async def _run(prepared: PreparedCluster, options: BrokerOptions, serve_store: ServeStore) -> int:
    supervisor = _Supervisor(prepared)
    if options.until_eof:
        watch_input(lambda: supervisor.stop("the standard input has ended"))
    watch_signals(supervisor.stop)
    return await supervisor.run(serve_store)


class _Supervisor:
    """The running cluster: passes events to `ClusterStates`, and carries out what follows."""

    def __init__(self, prepared: PreparedCluster) -> None:
        self._began_ns = time.monotonic_ns()
        self._prepared = prepared
        self._ids = prepared.settings.broker_ids
        self._loop = asyncio.get_running_loop()
        self._states = ClusterStates(self._ids, prepared.settings.session_timeout_ms + RETURN_GRACE_MS)
        self._processes = Processes(
            Path(prepared.settings.log_dirs[0]),
            Path(prepared.sockets.path),
            prepared.arguments,
            {one: prepared.settings_of(one) for one in self._ids},
            inherits_input=prepared.inherits_input,
            on_ready=lambda one: self._carry_out(self._states.on_ready(one, self._now_ms())),
            on_exited=self._on_exited,
        )
        # Resolved with the exit code when no process is left.
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._stopping_file = Path(stopping_file(prepared.sockets.path))
        self._stopping_file.unlink(missing_ok=True)  # of a supervisor that was killed while it stopped
        # Calls `_tick` when the states want it.
        self._alarm: asyncio.TimerHandle | None = None
        # None before it is served.
        self._store: ServedStore | None = None
        # Whether the processes are in the hands of the states: from when the store is served on.
        self._has_begun = False
        # Whether a signal has asked for a stop.
        self._is_asked = False
        # Finds the order of a stop; None before that.
        self._stopping: asyncio.Task[None] | None = None

    async def run(self, serve_store: ServeStore) -> int:
        """Run the cluster to its end; returns the exit code. Raises DataDirectoryError."""
        prepared = self._prepared
        for broker_id, found in prepared.found.items():
            self._processes.adopt(broker_id, found)
        try:
            self._store = await serve_store(
                prepared.sockets.path, metadata_file(prepared.settings), self._on_session
            )
        except BaseException:
            self._processes.close()
            if not prepared.found:
                self._processes.remove_files()
                prepared.sockets.remove()
            raise
        try:
            self._carry_out(self._states.begin(prepared.found, self._now_ms()))
            self._has_begun = True
            if self._is_asked:
                self._begin_stop()
            code = await self._ended
        finally:
            await self._store.stop()
            self._processes.close()
        self._processes.remove_files()
        prepared.sockets.remove()
        _log.info("stopped")
        return code

    def stop(self, reason: str) -> None:
        """Called for each signal: the first one stops the cluster, the second ends it at once."""
        if not self._is_asked:
            self._is_asked = True
            _log.info("stopping: %s", reason, extra={"reason": reason})
            if self._has_begun:
                self._begin_stop()
            return
        if not self._has_begun:
            return
        _log.warning("stopping at once, because of a second signal: logs will be verified at the next start")
        if not self._states.is_stopping:
            self._carry_out(self._states.on_stop(self._ids, self._now_ms()))
        self._carry_out(self._states.on_stop(self._ids, self._now_ms()))

    def _begin_stop(self) -> None:
        self._stopping = self._loop.create_task(self._stop())

    async def _stop(self) -> None:
        """Stop the brokers one after another, the controller last: it moves the others' leaderships."""
        last = None
        if self._store is not None:
            try:
                last = await asyncio.wait_for(self._store.controller_id(), ASKING_S)
            except TimeoutError:
                pass
        if not self._states.is_stopping:
            self._note_stopping()
            order = sorted(self._ids, key=lambda one: (one == last, one))
            self._carry_out(self._states.on_stop(order, self._now_ms()))

    def _note_stopping(self) -> None:
        """Say in the directory of the sockets that all stop; without that, each waits for its hand-over."""
        try:
            # The earlier ones have stopped when the later ones try to hand over to them.
            self._stopping_file.touch()
        except OSError as error:
            reason = reason_of(error)
            _log.warning("%s cannot be made, so the stop may take longer: %s", self._stopping_file, reason)

    def _on_session(self, broker_id: BrokerId, pid: int) -> None:
        """Called when a process begins a session with the store, or comes back to it."""
        found = self._prepared.found.get(broker_id)
        if found is None or self._processes.pid_of(broker_id) != found.pid or pid not in (0, found.pid):
            return
        if self._states.state_of(broker_id) is ProcessState.RETURNING:
            _log.info("broker %d has come back: process %d", broker_id, pid, extra={"broker": broker_id})
            self._carry_out(self._states.on_ready(broker_id, self._now_ms()))

    def _on_exited(self, broker_id: BrokerId, exited: Exited) -> None:
        if not self._prepared.ports.is_holding(broker_id):  # its process was found, and had the ports
            self._prepared.hold_ports(broker_id)
        self._carry_out(self._states.on_exited(broker_id, exited, self._now_ms()))

    def _now_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def _tick(self) -> None:
        self._alarm = None
        self._carry_out(self._states.tick(self._now_ms()))

    def _carry_out(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            self._carry_out_one(effect)
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        wake_ms = self._states.wake_ms
        if wake_ms is not None:
            delay_s = max(0, wake_ms - self._now_ms()) / 1000
            self._alarm = self._loop.call_later(delay_s, self._tick)

    def _carry_out_one(self, effect: Effect) -> None:
        match effect:
            case cluster_states.Spawn(broker_id):
                self._processes.spawn(broker_id)
            case cluster_states.Terminate(broker_id):
                self._processes.send(broker_id, signal.SIGTERM)
            case cluster_states.Kill(broker_id, is_overdue):
                if is_overdue:
                    self._log_overdue(broker_id)
                self._processes.send(broker_id, signal.SIGKILL)
            case cluster_states.WillRestart(broker_id, exited, delay_ms):
                level = logging.ERROR if exited.code else logging.WARNING  # 0: somebody has stopped it
                _log.log(
                    level,
                    "broker %d has ended (%s): it is started again in %d s",
                    broker_id,
                    in_words(exited),
                    delay_ms // 1000,
                    extra={"broker": broker_id, "exit_code": exited.code, "delay_ms": delay_ms},
                )
            case cluster_states.StartFailed(broker_id, exited):
                _log.error(
                    "the cluster cannot start: broker %d has ended (%s)",
                    broker_id,
                    in_words(exited),
                    extra={"broker": broker_id, "exit_code": exited.code},
                )
            case cluster_states.Serving():
                self._report_serving()
            case cluster_states.End(code):
                self._ended.set_result(code)

    def _log_overdue(self, broker_id: BrokerId) -> None:
        late = "stopped" if self._states.is_stopping else "come back to the metadata store"
        _log.error(
            "broker %d (process %d) has not %s in time: it is killed, and its logs will be verified",
            broker_id,
            self._processes.pid_of(broker_id),
            late,
            extra={"broker": broker_id},
        )

    def _report_serving(self) -> None:
        lines = [self._processes.lines[one] or self._prepared.line_of(one) for one in self._ids]
        print_line(joined_line(lines), sys.stdout)
        took_ms = (time.monotonic_ns() - self._began_ns) // 1_000_000
        pids = {one: self._processes.pid_of(one) for one in self._ids}
        named = ", ".join(f"broker {one} is process {pid}" for one, pid in pids.items())
        _log.info("started within %d ms: %s", took_ms, named, extra={"took_ms": took_ms, "pids": pids})


def in_words(exited: Exited) -> str:
    """How a process has ended, for people: `exit code 1`, `SIGKILL`."""
    if exited.reason:
        return exited.reason
    if exited.code is None:
        return "its exit code is not known, because an earlier supervisor had started it"
    if exited.code >= 0:
        return f"exit code {exited.code}"
    try:
        return signal.Signals(-exited.code).name
    except ValueError:
        return f"signal {-exited.code}"


def joined_line(lines: Iterable[str]) -> str:
    """Joins the lines of all brokers into one.

    odradek: listening on 127.0.0.1:9092, admin on 127.0.0.1:8080
    odradek: listening on 127.0.0.1:9093, admin on 127.0.0.1:8081
    ->
    odradek: listening on 127.0.0.1:9092, 127.0.0.1:9093, admin on 127.0.0.1:8080, 127.0.0.1:8081 (2 brokers)
    """
    found = [match for line in lines if (match := _LINE.fullmatch(line))]
    joined = READY + "on " + ", ".join(match["opened"] for match in found)
    if any(match["advertised"] for match in found):
        joined += ", advertised as " + ", ".join(match["advertised"] or match["opened"] for match in found)
    if any(match["admin"] for match in found):
        joined += ", admin on " + ", ".join(match["admin"] for match in found if match["admin"])
    return f"{joined} ({len(found)} broker{'s' if len(found) > 1 else ''})"
