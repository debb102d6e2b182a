"""The input and the output of assignors."""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias

from odradek.base.execution import Pace, Steps
from odradek.base.ids import TopicId

Assignment: TypeAlias = Mapping[TopicId, frozenset[int]]
"""Partitions by topic; a topic without partitions is not in it."""


class Subscriber(NamedTuple):
    """A member of a group, with the fields that assignors use."""

    member_id: str
    # The instance id of a static member (KIP-345); None for others.
    instance_id: str | None
    # Those that it subscribed to, by name or by expression; may hold some that no longer exist.
    topics: frozenset[TopicId]
    # What it was to have so far: assignors that are sticky start from it.
    target: Assignment


Assignor: TypeAlias = Callable[
    [Sequence[Subscriber], Mapping[TopicId, int], Pace], Steps[dict[str, Assignment]]
]
"""Takes the members and each topic's number of partitions; returns the assignments by member id, in steps."""


by_number: Final = attrgetter("int")
"""The key by which topics are sorted: the order of their ids, without a Python call for each comparison."""


def in_order(subscribers: Sequence[Subscriber]) -> list[Subscriber]:
    """The members as assignors count them: static ones by instance id, then the others by member id.

    So a static member that comes back with a new member id keeps its place.
    """
    return sorted(
        subscribers,
        key=lambda one: (one.instance_id is None, one.instance_id or one.member_id, one.member_id),
    )
