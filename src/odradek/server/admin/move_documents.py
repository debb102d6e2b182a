"""Requests that move a leader or a coordinator to a broker that a test chooses, as JSON documents.

    {"fault": "move_leader", "topic": "orders", "partition": 0, "to": 2}    -> {"leader": 2}
    {"fault": "move_coordinator", "group": "billing", "to": 2}              -> {"coordinator": 2}
    {"fault": "move_coordinator", "transactional_id": "shop"}               -> {"coordinator": 3}

Any broker of the cluster takes them. Without `to` the preferred leader leads, and another broker coordinates.
They are no faults of one broker: they take a while, and nothing is to be removed afterwards.
"""

from collections.abc import Callable
from typing import Final

from odradek.base.errors import ApiError, FaultRefused
from odradek.base.ids import BrokerId, TopicPartition
from odradek.client.configuration import ClientConfig
from odradek.client.core.requests import CoordinatorKind
from odradek.server.admin.leader_moves import move_coordinator, move_leader
from odradek.server.faults.fields import Document, number_in, text_in
from odradek.server.faults.rules import HELPERS_CLIENT_ID

TIMEOUT_S: Final = 30.0
_FIELDS: Final = {
    "move_leader": frozenset({"topic", "partition", "to"}),
    "move_coordinator": frozenset({"group", "transactional_id", "to"}),
}
_PARTITIONS_MAX: Final = 1 << 31


def is_move(document: object) -> bool:
    """Whether a request is one of these."""
    return isinstance(document, dict) and document.get("fault") in _FIELDS


def planned_move(document: Document, bootstrap_servers: str) -> Callable[[], dict[str, BrokerId]]:
    """Check a request that `is_move`; returns what carries it out, on a thread that may wait.

    Both raise FaultRefused.
    """
    name = str(document["fault"])
    unknown = sorted(document.keys() - _FIELDS[name] - {"fault"})
    if unknown:
        raise FaultRefused(f"{name} takes no {', '.join(unknown)}")
    to = None if document.get("to") is None else number_in(document, "to", 0, _PARTITIONS_MAX)
    config = ClientConfig(bootstrap_servers, client_id=HELPERS_CLIENT_ID)
    if name == "move_leader":
        given = document.get("partition") is not None
        partition = number_in(document, "partition", 0, _PARTITIONS_MAX) if given else 0
        named = TopicPartition(text_in(document, "topic"), partition)
        return _refusing(lambda: {"leader": move_leader(config, named, to, TIMEOUT_S)})
    if ("group" in document) == ("transactional_id" in document):
        raise FaultRefused("move_coordinator takes either a group or a transactional_id")
    kind = CoordinatorKind.GROUP if "group" in document else CoordinatorKind.TRANSACTION
    key = text_in(document, "group" if "group" in document else "transactional_id")
    return _refusing(lambda: {"coordinator": move_coordinator(config, kind, key, to, TIMEOUT_S)})


def _refusing(move: Callable[[], dict[str, BrokerId]]) -> Callable[[], dict[str, BrokerId]]:
    def moved() -> dict[str, BrokerId]:
        try:
            return move()
        except ApiError as error:
            raise FaultRefused(f"{error.code.name}: {error}") from None

    return moved
