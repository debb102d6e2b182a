"""A group coordinator."""

import pytest

from tests.coordinator.group_bench import GroupBench


@pytest.fixture
def bench() -> GroupBench:
    return GroupBench()
