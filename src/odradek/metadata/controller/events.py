"""The events that `core.Controller` takes and the effects that it returns, as values."""

from collections.abc import Mapping
from dataclasses import field
from typing import TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import OdradekError
from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.values import value
from odradek.metadata.controller.requests import Answer, ControllerRequest
from odradek.metadata.image import BrokerImage, Change, PartitionImage
from odradek.metadata.orders import LogEnd, Order
from odradek.metadata.store import (
    Operation,
    Reconnected,
    SessionEnded,
    StoreLimits,
    StoreReplied,
    WatchFired,
)

# --- events


@value
class Started:
    """The broker has a session with the store and is to join; it has no epoch yet."""

    registration: BrokerImage
    # The session, as the store numbers it: the owner of the nodes that say what this broker is.
    session: int
    # What the store takes in one write.
    limits: StoreLimits = field(default_factory=StoreLimits)


@value
class TurnCame:
    """The turn of the loop that `TurnWanted` of that number asked for."""

    call_id: int


@value
class ElectionDue:
    """Who is the controller is to be found out again, although no watch has said so.

    After `ElectionFailed` its host brings it a moment later; a core that a write has deposed, itself.
    """


@value
class RequestArrived:
    """A request, under a number that the answer will carry."""

    request_id: int
    request: ControllerRequest


@value
class BrokerAnswered:
    """A broker answered the order of that number, with the error of each partition that had one."""

    order_id: int
    broker_id: BrokerId
    errors: Mapping[TopicPartition, ErrorCode]
    # Why the broker refused the order as a whole; it then changed nothing.
    error_code: ErrorCode = ErrorCode.NONE
    # Where its logs of partitions without a leader end.
    log_ends: Mapping[TopicPartition, LogEnd] = field(default_factory=dict)


ControllerEvent: TypeAlias = (
    Started
    | StoreReplied
    | TurnCame
    | ElectionDue
    | WatchFired
    | Reconnected
    | SessionEnded
    | RequestArrived
    | BrokerAnswered
)
"""Of the store's events, `StoreReplied` carries the number of the `StoreCall`."""


# --- effects


@value
class StoreCall:
    """Submit this to the store, and bring the result back as `StoreReplied` with the same number."""

    call_id: int
    operation: Operation


@value
class TurnWanted:
    """Let others be served, and come back with `TurnCame` with the same number."""

    call_id: int


@value
class SendToBroker:
    """Send this, in order per broker, and bring the answer back as `BrokerAnswered`."""

    broker_id: BrokerId
    order_id: int
    order: Order


@value
class Respond:
    """Answer the request of that number."""

    request_id: int
    answer: Answer


@value
class ImageChanged:
    """The controller's image has taken these changes; settings among them are in force from now on."""

    changes: tuple[Change, ...]


@value
class ElectedUncleanly:
    """A partition got a leader that may lack acknowledged records (R15e); the message is for the operator."""

    topic_partition: TopicPartition
    before: PartitionImage
    after: PartitionImage
    # Where the logs of the replicas that were online end; empty if the last known leader was elected.
    log_ends: Mapping[BrokerId, LogEnd]


@value
class Elected:
    """This broker is the controller from now on; its image is whole."""


@value
class Resigned:
    """This broker is not the controller any more; its image is outdated."""


@value
class ElectionFailed:
    """An election ended half-way: this broker decides nothing, although it may hold the claim.

    `ElectionDue` is to follow: no watch tells when what could not be read is mended. Where the connection was
    lost, `Reconnected` follows.
    """

    error: OdradekError


@value
class EventFailed:
    """An event other than a request could not be dealt with; the message is for the operator.

    After `Started` the broker has not joined the cluster. After other events the controller continues.
    """

    event: ControllerEvent
    error: OdradekError


Effect: TypeAlias = (
    StoreCall
    | TurnWanted
    | SendToBroker
    | Respond
    | ImageChanged
    | ElectedUncleanly
    | Elected
    | Resigned
    | ElectionFailed
    | EventFailed
)
