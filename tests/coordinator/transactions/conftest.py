"""A transaction coordinator."""

import pytest

from tests.coordinator.transactions.transaction_bench import TransactionBench


@pytest.fixture
def bench() -> TransactionBench:
    return TransactionBench()
