"""The network thread of blocking clients: results, exceptions, interruptions, misuse."""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from odradek.client.aio.deliveries import Receipt
from odradek.client.aio.home import Misuse
from odradek.client.aio.table_deliveries import TableReceipt
from odradek.client.blocking.delivery import Delivery, TableDelivery, give_deliveries
from odradek.client.blocking.network_thread import NetworkThread
from odradek.client.blocking.shared_lock import SharedLock


async def nothing() -> None:
    pass


@pytest.fixture
def network() -> Iterator[NetworkThread]:
    made = NetworkThread("this client")
    yield made
    made.close(10, nothing)


def test_a_coroutine_runs_on_the_thread_and_its_result_comes_here(network: NetworkThread) -> None:
    async def where() -> threading.Thread:
        return threading.current_thread()

    thread = network.run(where)
    assert thread is not threading.current_thread()
    assert thread.daemon, "it does not keep the process alive"


def test_an_exception_comes_through(network: NetworkThread) -> None:
    async def fail() -> None:
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        network.run(fail)


def test_a_timeout_of_the_coroutine_is_its_own(network: NetworkThread) -> None:
    async def fail() -> None:
        raise TimeoutError("of the application")

    with pytest.raises(TimeoutError, match="of the application"):
        network.run(fail)


def test_ctrl_c_cancels_the_call_and_leaves_the_client_usable(network: NetworkThread) -> None:
    cancelled = threading.Event()

    async def wait() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(KeyboardInterrupt):
        network.run(wait)
    assert cancelled.wait(10)
    network.run(nothing)


def test_ctrl_c_before_it_begins_leaves_no_coroutine_that_nobody_awaits(
    network: NetworkThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def function() -> Coroutine[Any, Any, None]:
        made.append("a coroutine")
        return nothing()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(network._loop, "call_soon_threadsafe", interrupted)
        with pytest.raises(KeyboardInterrupt):
            network.run(function)
    assert made == []
    network.run(function)
    assert made == ["a coroutine"]


def interrupted_within(monkeypatch: pytest.MonkeyPatch, call: Callable[[], object]) -> None:
    """Make a call, with Ctrl-C wherever it takes a lock by Python code, when it has it."""
    enter = threading.Condition.__enter__

    def interrupted(condition: threading.Condition) -> bool:
        taken = enter(condition)
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        return taken

    with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt, TimeoutError):
        patch.setattr(threading.Condition, "__enter__", interrupted)
        call()


def test_ctrl_c_leaves_no_lock_held_that_the_thread_would_wait_for(
    network: NetworkThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = SharedLock()
    delivery = Delivery(network, ended)
    interrupted_within(monkeypatch, lambda: network.run(nothing))
    interrupted_within(monkeypatch, lambda: delivery.result(0.01))
    went_on = threading.Event()
    network.post(lambda: give_deliveries(ended, [delivery], [Receipt("orders", 0, 7, 0)]))
    network.post(went_on.set)
    assert went_on.wait(5)
    assert delivery.result(5).offset == 7


def test_ctrl_c_leaves_the_lock_of_a_table_s_delivery_free(
    network: NetworkThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivery = TableDelivery(network, SharedLock())
    interrupted_within(monkeypatch, lambda: delivery.result(0.01))

    async def give() -> None:
        done = asyncio.get_running_loop().create_future()
        done.set_result(TableReceipt(0, {}))
        delivery.take_over(done)

    gives = threading.Thread(target=lambda: network.run(give), daemon=True)
    gives.start()
    gives.join(5)
    assert not gives.is_alive()
    assert delivery.result(5) == TableReceipt(0, {})


def test_an_exception_of_the_call_itself_comes_through(network: NetworkThread) -> None:
    def function() -> Coroutine[Any, Any, None]:
        raise TypeError("one argument too many")

    with pytest.raises(TypeError, match="one argument too many"):
        network.run(function)


def test_threads_may_share_it(network: NetworkThread) -> None:
    meeting = threading.Barrier(2)
    both: list[int] = []

    async def meet(mine: int) -> int:
        await asyncio.to_thread(meeting.wait, 10)
        return mine

    other = threading.Thread(target=lambda: both.append(network.run(lambda: meet(2))))
    other.start()
    both.append(network.run(lambda: meet(1)))
    other.join(10)
    assert sorted(both) == [1, 2]


def test_after_close_it_says_so() -> None:
    network = NetworkThread("this client")
    network.close(10, nothing)
    network.close(10, nothing)
    assert not network._thread.is_alive()
    with pytest.raises(Misuse, match="this client was closed"):
        network.run(nothing)


def test_a_call_of_another_thread_ends_when_it_is_closed() -> None:
    network = NetworkThread("this client")
    began = threading.Event()
    errors: list[Exception] = []

    async def wait() -> None:
        began.set()
        await asyncio.get_running_loop().create_future()

    def call() -> None:
        try:
            network.run(wait)
        except Misuse as misuse:
            errors.append(misuse)

    other = threading.Thread(target=call)
    other.start()
    assert began.wait(10)
    network.close(10, nothing)
    other.join(10)
    assert [str(one) for one in errors] == ["this client was closed by another thread"]


def test_a_close_that_does_not_end_is_given_up() -> None:
    network = NetworkThread("this client")

    async def never() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(TimeoutError, match=r"this client did not end within 0\.01 s"):
        network.close(0.01, never)
    network._thread.join(10)
    assert not network._thread.is_alive()


@pytest.mark.parametrize("fault", [None, OSError("cut off")])
def test_a_client_that_is_dropped_ends_after_its_last_coroutine(
    network: NetworkThread, caplog: pytest.LogCaptureFixture, fault: Exception | None
) -> None:
    ended: list[int] = []

    async def last() -> None:
        await asyncio.sleep(0)
        ended.append(threading.get_ident())
        if fault is not None:
            raise fault

    with pytest.warns(ResourceWarning, match="unclosed odradek.Admin"):
        network.drop(last, "odradek.Admin")
    network.drop(last, "odradek.Admin")
    network._thread.join(10)
    assert ended == [network._thread.ident], "once"
    said = [] if fault is None else ["an unclosed client could not be closed: cut off"]
    assert [one.getMessage() for one in caplog.records] == said
    with pytest.raises(Misuse, match="was closed"):
        network.run(nothing)


def test_it_cannot_wait_for_itself(network: NetworkThread) -> None:
    async def call() -> None:
        network.run(nothing)

    with pytest.raises(Misuse, match="from its own network thread"):
        network.run(call)


def test_it_cannot_end_itself(network: NetworkThread) -> None:
    async def end() -> None:
        with pytest.raises(Misuse, match="its own network thread"):
            network.close(None, nothing)

    network.run(lambda: asyncio.wait_for(end(), 5))
    network.run(nothing)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_is_told_to_make_its_own(network: NetworkThread) -> None:
    """Also one that was forked while another thread had the lock, which nobody gives back there."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        network._lock.acquire()
        signal.alarm(10)
        try:
            network.run(nothing)
        except Misuse as misuse:
            os.write(writing, str(misuse).encode())
        finally:
            network.close(0, nothing)
            os._exit(0)
    os.close(writing)
    said = os.read(reading, 1_000).decode()
    os.close(reading)
    assert os.waitpid(child, 0)[1] == 0, "its close does not wait for ever"
    assert said.startswith("this client was made before this process was forked")
    network.run(nothing)
