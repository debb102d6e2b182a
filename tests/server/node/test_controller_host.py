"""The controller's host and its session with the metadata store."""

from typing import Any

from odradek.metadata.tree import TableFailed
from odradek.server.node.store_session import REOPENING_MS
from odradek.testing.sim import SimNode


def controller_epoch(node: SimNode) -> int:
    epoch: int = node.core.image.controller_epoch
    return epoch


def test_after_its_session_ended_a_broker_joins_again(node: SimNode) -> None:
    assert controller_epoch(node) == 1
    node.session.expire()
    node.session.report_next()
    assert not node.core.controller.is_active
    node.settle()
    assert node.core.controller.is_active
    assert controller_epoch(node) == 2


def test_a_session_that_cannot_be_opened_is_tried_again_after_a_while(
    node: SimNode, monkeypatch: Any
) -> None:
    attempts = []

    def fails() -> int:
        attempts.append(node.clock.monotonic_ms())
        raise TableFailed("disk I/O error")

    with monkeypatch.context() as broken:
        broken.setattr(node.store.engine, "open_session", fails)
        node.session.expire()
        node.settle()
        node.advance(REOPENING_MS)
    first, second = attempts
    assert second - first == REOPENING_MS
    node.advance(REOPENING_MS)
    assert node.core.controller.is_active
