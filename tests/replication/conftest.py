"""A broker's replicas."""

import pytest

from tests.replication.replica_bench import ReplicaBench


@pytest.fixture
def bench() -> ReplicaBench:
    return ReplicaBench()
