"""A pool of threads before and after the main thread has ended, and when no thread can be started."""

import concurrent.futures.thread
import threading

import pytest

from odradek.client.blocking.lasting_pool import LastingPool


def fail() -> None:
    raise OSError("no such host")


def test_calls_are_made_on_other_threads_also_when_the_main_thread_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with LastingPool() as pool:
        for has_ended in (False, True):
            monkeypatch.setattr(concurrent.futures.thread, "_shutdown", has_ended)
            assert pool.submit(threading.get_ident).result(10) != threading.get_ident()
            assert pool.submit(int, "a", base=16).result(10) == 10
            with pytest.raises(OSError, match="no such host"):
                pool.submit(fail).result(10)


def test_where_no_thread_can_be_started_a_call_is_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    with LastingPool() as pool:
        monkeypatch.setattr(concurrent.futures.thread, "_shutdown", True)
        monkeypatch.setattr(threading.Thread, "start", refuse)
        assert pool.submit(threading.get_ident).result(0) == threading.get_ident()
