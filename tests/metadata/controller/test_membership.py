"""Joining and competing when answers of the store are lost."""

from typing import Any

import pytest

from odradek.metadata import paths
from odradek.metadata.store import Create, Delete, Multi, Operation


def claims_the_controllership(operation: Operation) -> bool:
    return isinstance(operation, Multi) and any(
        isinstance(write, Create) and write.path == paths.CONTROLLER for write in operation.operations
    )


def registers(operation: Operation) -> bool:
    return isinstance(operation, Create) and operation.path == paths.broker(1)


@pytest.mark.parametrize("executed", [True, False])
def test_a_claim_whose_answer_is_lost_is_recognised(cluster: Any, executed: bool) -> None:
    """A claim that was done is ours: nobody else could make /controller, and everybody would wait for us."""
    cluster.connect(1).lose_answer(claims_the_controllership, executed=executed)
    cluster.start(1)
    assert cluster.members[1].controller.is_active
    assert cluster.image.controller_id == 1
    assert cluster.image.controller_epoch == 1


def test_the_node_of_an_earlier_life_is_not_ours(cluster: Any) -> None:
    """It names the same broker, and dies with the session of that life."""
    cluster.start(1)
    earlier = cluster.members[1]
    assert earlier.controller.is_active
    cluster.store.engine.apply(earlier.session.session_id, Delete(paths.broker(1)))
    cluster.connect(1)
    cluster.start(1)
    assert not cluster.members[1].controller.is_active
    earlier.session.expire()
    assert cluster.members[1].controller.is_active
    assert cluster.image.controller_epoch == 2


@pytest.mark.parametrize("executed", [True, False])
def test_a_registration_whose_answer_is_lost_is_recognised(cluster: Any, executed: bool) -> None:
    cluster.connect(1).lose_answer(registers, executed=executed)
    cluster.start(1)
    if not executed:  # nothing stands there, and the attempt was given up
        assert cluster.members[1].controller.broker is None
        cluster.start(1)
    assert cluster.members[1].controller.is_active
