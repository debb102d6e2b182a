"""A log to be opened, crashed and opened again."""

import pytest

from tests.storage.log_bench import LogBench


@pytest.fixture
def bench() -> LogBench:
    return LogBench()
