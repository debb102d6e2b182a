"""Clusters of controllers: an empty one, and one of three brokers."""

import pytest

from tests.metadata.controllers import Cluster


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def three() -> Cluster:
    """Brokers 1, 2 and 3, of which 1 is the controller."""
    made = Cluster()
    made.start(1, 2, 3)
    return made
