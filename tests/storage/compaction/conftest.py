"""A compacted log to clean."""

import pytest

from tests.storage.compaction.facts import Facts


@pytest.fixture
def facts() -> Facts:
    return Facts()
