"""What all tests share: no deadlines (machines are noisy), and in CI the same examples on every run.

And no level of logging that an earlier test has set.
"""

import logging
import os

import pytest
from hypothesis import settings

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Take back the level that a `Broker` in this process sets: other tests look at what is below it."""
    logging.getLogger("odradek").setLevel(logging.NOTSET)
