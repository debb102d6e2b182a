"""A broker that is alone knows no other."""

from collections.abc import Callable

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.server.node.peers import NoPeers, PeerOutcome, PeerRequest
from odradek.wire.messages.update_metadata import UpdateMetadataRequest


def test_whoever_is_asked_is_not_known_and_the_answer_comes_later() -> None:
    turns: list[Callable[[], None]] = []
    outcomes: list[PeerOutcome] = []
    NoPeers(turns.append).send(PeerRequest(2, UpdateMetadataRequest(), 8, timeout_ms=100), outcomes.append)
    assert outcomes == [], "a port never calls back before it returns"
    turns.pop()()
    (failed,) = outcomes
    assert isinstance(failed, ApiError)
    assert (failed.code, failed.message) == (ErrorCode.BROKER_NOT_AVAILABLE, "broker 2 is not known here")
