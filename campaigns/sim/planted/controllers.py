"""Bugs of the controller and of the store's writers: elections, ISRs, epochs, what brokers are told."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final
from unittest.mock import patch

from campaigns.sim.planted.planting import Plant, replaced, together
from odradek.base.ids import NO_BROKER_EPOCH
from odradek.metadata.controller import election, membership
from odradek.metadata.controller.core import Controller
from odradek.metadata.controller.fenced_writes import FencedWrites
from odradek.metadata.controller.pending_orders import PendingOrders
from odradek.metadata.controller.settings_of_topics import SettingsOfTopics
from odradek.metadata.image import ClusterImage, PartitionImage
from odradek.metadata.orders import LeaderAndIsr, UpdateMetadata
from odradek.metadata.store import Check, Failed, Multi, SetData, StoreSteps
from odradek.replication import leadership
from odradek.replication.isr import IsrChange
from odradek.replication.leadership import Leadership
from odradek.server.node.isr_writer import IsrWriter

ANY_VERSION: Final = -1


def _any_broker_epoch(original: Any) -> Any:
    def propose_expansion(
        self: Leadership, broker_id: int, high_watermark: int, min_isr: int, broker_epoch: int
    ) -> Any:
        return original(self, broker_id, high_watermark, min_isr)

    return propose_expansion


def _follower_of_any_broker_epoch(original: Any) -> Any:
    return lambda self, broker_id, broker_epoch: original(self, broker_id, NO_BROKER_EPOCH)


def _readmitted_without_an_epoch(original: Any) -> Any:
    def readmit(partition: PartitionImage, returned: Mapping[int, bool], *given: Any) -> Any:
        members = {
            one: trusted for one, trusted in returned.items() if one in (*partition.isr, *partition.elr)
        }
        return original(partition, members, *given) if members else None

    return readmit


def _roles_first(original: Any) -> Any:
    def take(self: PendingOrders, image: ClusterImage) -> Iterator[Any]:
        messages = list(original(self, image))
        return iter(sorted(messages, key=lambda sent: not isinstance(sent[1], LeaderAndIsr)))

    return take


def _no_facts_for_joiners(original: Any) -> Any:
    def take(self: PendingOrders, image: ClusterImage) -> Iterator[Any]:
        joining = dict(self._joining)
        for broker_id, message in original(self, image):
            if broker_id not in joining or not isinstance(message, UpdateMetadata):
                yield broker_id, message

    return take


def _claim_not_recognised(original: Any) -> Any:
    def compete(*given: Any) -> StoreSteps[int | None]:
        process, is_lost, reply = original(*given), False, None
        while True:
            try:
                operation = process.send(reply)
            except StopIteration as end:
                return None if is_lost else end.value
            reply = yield operation
            is_lost |= isinstance(operation, Multi) and isinstance(reply, Failed)

    return compete


def _unfenced_commit(original: Any) -> Any:
    def commit(*given: Any, **named: Any) -> StoreSteps[Any]:
        process, reply = original(*given, **named), None
        while True:
            try:
                operation = process.send(reply)
            except StopIteration as end:
                return end.value
            reply = yield _without_fence(operation)

    return commit


def _without_fence(operation: Any) -> Any:
    if not isinstance(operation, Multi):
        return operation
    fence, *writes = operation.operations
    if not isinstance(fence, Check):
        return operation
    return Multi((replace(fence, version=ANY_VERSION), *writes))


def _isr_of_any_version(original: Any) -> Any:
    def write(self: IsrWriter, change: IsrChange) -> None:
        submit = self._writes.submit

        def without_version(operation: SetData, done: Any) -> None:
            submit(replace(operation, version=ANY_VERSION), done)

        with patch.object(self._writes, "submit", without_version):
            original(self, change)

    return write


CONTROLLERS: Final[Mapping[str, Plant]] = {
    "ELR off": together(
        replaced(election, "eligible_after", lambda original: lambda *_: ()),
        replaced(leadership, "eligible_after", lambda original: lambda *_: ()),
    ),
    "stale broker epoch joins": together(
        replaced(Leadership, "propose_expansion", _any_broker_epoch),
        replaced(Leadership, "has_follower", _follower_of_any_broker_epoch),
        replaced(election, "readmit", _readmitted_without_an_epoch),
    ),
    "LeaderAndIsr before the image": replaced(PendingOrders, "take", _roles_first),
    "no UpdateMetadata for a broker that joins": replaced(PendingOrders, "take", _no_facts_for_joiners),
    "claim not recognised": replaced(membership, "compete", _claim_not_recognised),
    "unclean election though disabled": replaced(
        SettingsOfTopics, "allows_unclean", lambda original: lambda self, topic: True
    ),
    "a deposed controller decides on": together(
        replaced(Controller, "_resign", lambda original: lambda self: None),
        replaced(FencedWrites, "commit", _unfenced_commit),
    ),
    "ISR written over a newer state": replaced(IsrWriter, "write", _isr_of_any_version),
}
"""By what a person would call them."""
