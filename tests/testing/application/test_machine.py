"""Clocks and chance of Python while a simulation runs, and that all is as before afterwards."""

import os
import random
import secrets
import socket
import subprocess
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from odradek.base.clock import ManualClock
from odradek.testing import NotSimulated
from odradek.testing.application.machine import Machine

START_S = 1_700_000_000


def drawn() -> list[object]:
    return [
        *(random.random(), random.choice("abcdef"), random.SystemRandom().random()),
        *(uuid.uuid4(), os.urandom(8), secrets.token_hex(8)),
    ]


def test_all_clocks_are_the_world_s() -> None:
    clock = ManualClock(START_S * 1000)
    with Machine(clock, 1).simulated():
        assert (time.time(), time.monotonic(), time.perf_counter()) == (START_S, 0, 0)
        clock.advance(1_500)
        assert (time.time(), time.monotonic(), time.perf_counter()) == (START_S + 1.5, 1.5, 1.5)
        assert time.time_ns() == (START_S * 1000 + 1_500) * 1_000_000
        assert time.monotonic_ns() == time.perf_counter_ns() == 1_500_000_000
    assert time.time() > START_S + 1_000_000


def test_chance_is_the_seed_s() -> None:
    def draw(seed: int) -> list[object]:
        with Machine(ManualClock(), seed).simulated():
            return drawn()

    assert draw(1) == draw(1)
    assert all(one != other for one, other in zip(draw(1), draw(2), strict=True) if not isinstance(one, str))
    assert drawn()[3:] != draw(1)[3:]


def test_everything_is_restored_also_after_an_error() -> None:
    random.seed(5)
    before = (time.time, time.monotonic, time.sleep, os.urandom, threading.Thread.start, random.getstate())
    with suppress(ZeroDivisionError), Machine(ManualClock(), 1).simulated():
        assert time.time is not before[0]
        _ = random.random() / 0
    after = (time.time, time.monotonic, time.sleep, os.urandom, threading.Thread.start, random.getstate())
    assert after == before


def test_other_threads_see_the_real_clock() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        real = time.monotonic()
        with Machine(ManualClock(), 1).simulated():
            assert pool.submit(time.monotonic).result() >= real
            pool.submit(time.sleep, 0).result()


def test_what_would_block_or_leave_the_simulation_is_refused() -> None:
    with Machine(ManualClock(), 1).simulated():
        with pytest.raises(NotSimulated, match=r"use asyncio\.sleep"):
            time.sleep(1)
        with pytest.raises(NotSimulated, match=r"use asyncio\.to_thread"):
            threading.Thread(target=print).start()
        with pytest.raises(NotSimulated, match="a process of the operating system"):
            subprocess.run(["true"])
        with socket.socket() as opened, pytest.raises(NotSimulated, match=r"asyncio\.open_connection"):
            opened.connect(("127.0.0.1", 1))
