"""A broker as a process: loop, signals, and the one line that says where it listens."""

import asyncio
import logging
import os
import sys
import time
from typing import Final

from odradek import __version__
from odradek.base.errors import SettingError
from odradek.base.execution import Steps
from odradek.base.printing import print_line
from odradek.base.settings import SettingLayers
from odradek.base.values import value
from odradek.server.edge.cannot_listen import CannotListen
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.edge.open_files import raise_limit
from odradek.server.process import garbage, lifecycle
from odradek.server.process.broker import Broker
from odradek.server.process.event_loop import new_event_loop
from odradek.server.process.log_lines import LogOptions, log_to
from odradek.server.process.malloc_arenas import share_one_arena
from odradek.server.process.process_contract import EXIT_FAILED, EXIT_STOPPED_TWICE, READY
from odradek.server.process.shell import Shell
from odradek.server.process.stop_signs import watch_input, watch_signals
from odradek.storage import FileSystem

WARM_UP_REST: Final = 3

_log = logging.getLogger(__name__)


@value
class _Ending:
    """Why a broker stops."""

    reason: str
    is_failure: bool = False
    """Whether the broker can no longer work; if so, the process ends with EXIT_FAILED."""
    is_of_input: bool = False
    """Whether the program that started the broker has ended."""


def serve(
    layers: SettingLayers, log: LogOptions, *, test_faults: bool = False, until_eof: bool = False
) -> int:
    """Run a broker until a signal stops it, and return the exit code; a second signal ends it at once.

    Prints one line when clients may connect: `listening on host:port`, `, advertised as host:port` if that
    differs, `, admin on host:port` if there is an admin listener. With `test_faults` the admin listener
    carries out requests about faults; with `until_eof` the end of the standard input, a pipe, stops the
    broker like a signal. Raises SettingError, and DataDirectoryError before anything is changed on disk.
    """
    garbage.begin()
    raise_limit()
    share_one_arena()
    is_one_of_several = is_of_cluster(layers)
    log_to(sys.stderr, log, process=f"broker {layers.in_force.node_id}" if is_one_of_several else "")
    # The supervisor has said them of the settings that it gives to all its brokers.
    level = logging.DEBUG if is_one_of_several else logging.WARNING
    for warning in layers.warnings():
        _log.log(level, "%s", warning)
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(_run(layers, test_faults=test_faults, until_eof=until_eof))
    except CannotListen as error:
        raise SettingError(str(error)) from error


async def _run(layers: SettingLayers, *, test_faults: bool, until_eof: bool) -> int:
    began_ns = time.monotonic_ns()
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[_Ending] = loop.create_future()

    has_input_ended = False

    def on_signal(name: str) -> None:
        nonlocal has_input_ended
        if has_input_ended:  # a supervisor sends it, which has seen the same end: it is no second signal
            has_input_ended = False
        elif ended.done():
            _log.warning(
                "stopping at once, because of a second signal: logs will be verified at the next start"
            )
            os._exit(EXIT_STOPPED_TWICE)
        else:
            ended.set_result(_Ending(name))

    def on_failure(reason: str) -> None:
        if not ended.done():
            ended.set_result(_Ending(reason, is_failure=True))

    def on_end_of_input() -> None:
        """Called at the end of the pipe: the process that started this broker has died."""
        nonlocal has_input_ended
        if not ended.done():
            has_input_ended = True
            ended.set_result(_Ending("the standard input has ended", is_of_input=True))

    if until_eof:
        watch_input(on_end_of_input)
    watch_signals(on_signal)
    shell = Shell(
        layers,
        on_failure=on_failure,
        file_system=_faulty_files() if test_faults else None,
        takes_faults=test_faults,
    )
    broker = await lifecycle.start(shell)
    garbage.serve()
    admin = "" if broker.admin is None else f", admin on {broker.admin.address}"
    _report_ready(f"{READY}{shell.listeners.describe()}{admin}", has_supervisor=is_of_cluster(layers))
    _log_start(broker, time.monotonic_ns() - began_ns)
    warm_up(loop, shell.stalls, shell.handlers.load_by_and_by())
    ending = await ended
    began_ns = time.monotonic_ns()
    level = logging.CRITICAL if ending.is_failure else logging.INFO
    _log.log(level, "stopping: %s", ending.reason, extra={"reason": ending.reason})
    # At the end of their input all brokers of a cluster stop at once.
    await lifecycle.stop(broker, hands_over=not ending.is_of_input)
    took_ms = (time.monotonic_ns() - began_ns) // 1_000_000
    _log.info("stopped within %d ms", took_ms, extra={"took_ms": took_ms})
    return EXIT_FAILED if ending.is_failure else 0


def is_of_cluster(layers: SettingLayers) -> bool:
    """Whether a supervisor has started this broker, and others beside it."""
    return layers.in_force.odradek_cluster_directory is not None


def _report_ready(line: str, *, has_supervisor: bool) -> None:
    """Print the line for people and scripts; a supervisor that has died does not read it."""
    try:
        print_line(line, sys.stdout)
    except BrokenPipeError:
        if not has_supervisor:
            raise
        # Python would report at exit what it cannot write.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _log_start(broker: Broker, took_ns: int) -> None:
    python = ".".join(map(str, sys.version_info[:3]))
    fields = {
        "version": __version__,
        "pid": os.getpid(),
        "python": python,
        "broker": broker.core.broker_id,
        "cluster": broker.core.image.cluster_id,
        "logs": len(list(broker.core.logs.logs())),
        "took_ms": took_ns // 1_000_000,
        "listeners": broker.shell.listeners.describe(),
        "admin": "none" if broker.admin is None else broker.admin.address,
    }
    _log.info(
        "started within %(took_ms)d ms: odradek %(version)s, Python %(python)s, pid %(pid)d, "
        "broker %(broker)d of cluster %(cluster)s, %(logs)d logs loaded, listening %(listeners)s, "
        "admin listener: %(admin)s",
        fields,
        extra=fields,
    )


def _faulty_files() -> FileSystem:
    """Returns the machine's file system, on which faults can be set."""
    from odradek.storage.faulty_files import FaultyFileSystem

    return FaultyFileSystem(time.sleep)


def warm_up(loop: asyncio.AbstractEventLoop, stalls: LoopStalls, steps: Steps[None]) -> None:
    """Load the modules that no request has needed yet, one after another.

    After each module, clients have the loop for WARM_UP_REST times as long as its loading took, so that they
    have most of the loop on a slow machine, too.
    """

    def load_one() -> None:
        began_ns = stalls.now_ns()
        for _ in steps:
            took_ns = stalls.now_ns() - began_ns
            loop.call_later(WARM_UP_REST * took_ns / 1_000_000_000, stalls.run, load_one)
            break

    loop.call_soon(stalls.run, load_one)
