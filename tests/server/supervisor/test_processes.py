"""Brokers as processes: stand-ins that serve, end, and are found again."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from odradek.base.errors import DataDirectoryError
from odradek.base.ids import BrokerId
from odradek.base.settings.properties import parse_properties
from odradek.server.supervisor import processes
from odradek.server.supervisor.cluster_states import Exited
from odradek.server.supervisor.processes import (
    FoundProcess,
    Processes,
    find_processes,
    process_file,
    refuse_other_settings,
    settings_file,
)
from tests.server.supervisor import stand_ins

pytestmark = [pytest.mark.slow, pytest.mark.integration]

SETTINGS = {1: {"node.id": "1", "log.dirs": "a b"}, 2: {"node.id": "2"}}
ARGUMENTS = ["--log-format", "json"]


# The processes that their supervisor has left behind.
LEFT: list["subprocess.Popen[bytes]"] = []


class Reports:
    """What was reported, in order; `next` waits for the next one."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[str, BrokerId, Exited | None]] = asyncio.Queue()

    def ready(self, broker_id: BrokerId) -> None:
        self._queue.put_nowait(("ready", broker_id, None))

    def exited(self, broker_id: BrokerId, exited: Exited) -> None:
        self._queue.put_nowait(("exited", broker_id, exited))

    async def next(self) -> tuple[str, BrokerId, Exited | None]:
        return await asyncio.wait_for(self._queue.get(), 60)


Test = Callable[[Processes, Reports], Awaitable[None]]


@pytest.fixture(autouse=True)
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Brokers are stand-ins, whose orders are in this directory; what still runs at the end is killed."""
    (tmp_path / "orders").mkdir()
    monkeypatch.setattr(
        processes, "command_of", lambda settings, _: stand_ins.command(tmp_path / "orders", settings)
    )
    yield tmp_path / "orders"
    for child in LEFT:
        child.kill()
        child.wait()
    LEFT.clear()


def run(directory: Path, test: Test) -> None:
    async def running() -> None:
        reports = Reports()
        tried = Processes(
            directory,
            directory,
            ARGUMENTS,
            SETTINGS,
            inherits_input=False,
            on_ready=reports.ready,
            on_exited=reports.exited,
        )
        try:
            await test(tried, reports)
        finally:
            LEFT.extend(live.child for live in tried._live.values() if live.child is not None)
            tried.close()

    asyncio.run(running())


def test_a_process_serves_and_ends_at_sigterm(tmp_path: Path) -> None:
    async def test(tried: Processes, reports: Reports) -> None:
        tried.spawn(1)
        assert await reports.next() == ("ready", 1, None)
        assert tried.lines == {1: "odradek: listening on 127.0.0.1:9001"}
        pid = tried.pid_of(1)
        assert pid is not None
        assert os.getsid(pid) == pid, "a signal of the terminal does not reach it"
        tried.send(1, signal.SIGTERM)
        assert await reports.next() == ("exited", 1, Exited(0))
        assert tried.pid_of(1) is None
        tried.send(1, signal.SIGKILL)

    run(tmp_path, test)
    assert parse_properties(settings_file(tmp_path, 1).read_text()) == SETTINGS[1]
    assert settings_file(tmp_path, 1).stat().st_mode & 0o777 == 0o600


def test_how_it_has_ended_is_reported(tmp_path: Path, orders: Path) -> None:
    async def test(tried: Processes, reports: Reports) -> None:
        (orders / "1").write_text("exit 2")
        tried.spawn(1)
        assert await reports.next() == ("exited", 1, Exited(2))
        (orders / "1").unlink()
        tried.spawn(1)
        await reports.next()
        tried.send(1, signal.SIGKILL)
        assert await reports.next() == ("exited", 1, Exited(-signal.SIGKILL))

    run(tmp_path, test)


def test_a_process_that_cannot_be_started_is_reported_like_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "command_of", lambda *_: ["/no/such/program"])

    async def test(tried: Processes, reports: Reports) -> None:
        tried.spawn(1)
        said = "it cannot be started: no such file or directory"
        assert await reports.next() == ("exited", 1, Exited(None, said))

    run(tmp_path, test)


def test_another_supervisor_finds_it_watches_it_and_ends_it(tmp_path: Path) -> None:
    first: list[int | None] = []

    async def start(tried: Processes, reports: Reports) -> None:
        for broker_id in (1, 2):
            tried.spawn(broker_id)
            assert (await reports.next())[0] == "ready"
        first.extend(tried.pid_of(one) for one in (1, 2))

    async def go_on(tried: Processes, reports: Reports) -> None:
        found = find_processes(tmp_path, SETTINGS)
        assert [one.pid for one, _ in found.values()] == first
        line, file = "odradek: listening on 127.0.0.1:9001", process_file(tmp_path, 1)
        assert found[1] == (FoundProcess(first[0] or 0, line, file), ARGUMENTS)
        tried.adopt(1, found[1][0])
        tried.send(1, signal.SIGTERM)
        assert await reports.next() == ("exited", 1, Exited(None))
        assert list(find_processes(tmp_path, SETTINGS)) == [2]
        tried.spawn(1)
        assert await reports.next() == ("ready", 1, None)
        assert tried.pid_of(1) not in first
        tried.spawn(2)
        said = Exited(None, "it cannot be started: its process still runs")
        assert await reports.next() == ("exited", 2, said)

    run(tmp_path, start)
    run(tmp_path, go_on)


def test_a_process_whose_file_is_removed_is_not_taken_for_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def start(tried: Processes, reports: Reports) -> None:
        tried.spawn(1)
        await reports.next()

    async def go_on(tried: Processes, reports: Reports) -> None:
        found, _ = find_processes(tmp_path, SETTINGS)[1]
        monkeypatch.setattr(processes, "LOOK_S", 0)
        tried.adopt(1, found)
        found.file.unlink()
        looks: list[int] = []

        def is_running(pid: int) -> bool:
            looks.append(pid)
            return len(looks) < 3

        monkeypatch.setattr(processes, "is_running", is_running)
        assert await reports.next() == ("exited", 1, Exited(None))
        assert looks == [found.pid] * 3
        assert not found.file.exists(), "looking makes no file"

    run(tmp_path, start)
    run(tmp_path, go_on)


def test_a_process_with_other_settings_is_refused(tmp_path: Path) -> None:
    async def start(tried: Processes, reports: Reports) -> None:
        tried.spawn(1)
        await reports.next()

    run(tmp_path, start)
    found = find_processes(tmp_path, SETTINGS)[1]
    refuse_other_settings(1, found, ARGUMENTS, SETTINGS[1])
    with pytest.raises(DataDirectoryError, match=rf"1 still runs \(process {found[0].pid}\) with other"):
        refuse_other_settings(1, found, ARGUMENTS, {**SETTINGS[1], "num.partitions": "3"})
    with pytest.raises(DataDirectoryError, match="broker 1 still runs"):
        refuse_other_settings(1, found, [], SETTINGS[1])


def test_a_file_that_does_not_name_its_process_is_refused(tmp_path: Path) -> None:
    process_file(tmp_path, 1).write_text("{")
    assert find_processes(tmp_path, SETTINGS) == {}, "nobody holds the lock"
    holding = (
        "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holding, str(process_file(tmp_path, 1))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(DataDirectoryError, match=r"broker 1 of this cluster runs, and .* does not say"):
            find_processes(tmp_path, SETTINGS)
        holder.kill()
