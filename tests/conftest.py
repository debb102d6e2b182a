"""What all tests share: no deadlines (machines are noisy), and in CI the same examples on every run.

And no level of logging that an earlier test has set, no ignored signals, and no tests for the garbage
collector to look through.
"""

import gc
import logging
import os
import signal

import pytest
from hypothesis import settings
from peers.short_spark import use_short_jvms

GARBAGE = (20_000, 20, 20)
"""The thresholds of the collector; it frees a few megabytes of a simulation."""

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_configure() -> None:
    """Let signals end the processes that tests start, also where `nohup` or `&` began the run.

    A signal that is ignored stays ignored in every process started from there. Spark's JVMs compile little.
    """
    for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, default)
    use_short_jvms()


def pytest_collection_finish() -> None:
    """Keep the modules and tests from the collector: each simulation ends with a collection of garbage.

    And let it run seldom: at the usual thresholds a tenth of a simulation's time goes into it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Take back the level that a `Broker` in this process sets: other tests look at what is below it."""
    logging.getLogger("odradek").setLevel(logging.NOTSET)
