"""Bugs of the brokers that are ordered about, and of their sessions with the metadata store."""

from collections.abc import Mapping
from typing import Any, Final

from campaigns.sim.planted.planting import Plant, replaced, together
from odradek.base.error_codes import ErrorCode
from odradek.metadata.store import Reconnected, StoreEvent
from odradek.replication.role_changes import RoleChanger
from odradek.server.node.isr_writer import IsrWriter
from odradek.server.node.received_orders import ReceivedOrders
from odradek.server.node.store_session import StoreSession


def _deaf_to_reconnection(original: Any) -> Any:
    def on_event(self: StoreSession, event: StoreEvent) -> None:
        if not isinstance(event, Reconnected):
            original(self, event)

    return on_event


ORDERS: Final[Mapping[str, Plant]] = {
    "controller epoch unchecked": together(
        replaced(ReceivedOrders, "_refusal_of", lambda original: lambda self, request: ErrorCode.NONE),
        replaced(RoleChanger, "_obeys", lambda original: lambda self, controller_epoch: True),
    ),
    "ISR changes not announced": replaced(IsrWriter, "announce", lambda original: lambda self: None),
    "watches lost on reconnection": replaced(StoreSession, "_on_event", _deaf_to_reconnection),
}
"""By what a person would call them."""
