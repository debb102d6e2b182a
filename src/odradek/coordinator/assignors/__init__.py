"""Which member of a consumer group gets which partitions, decided by the broker (KIP-848).

Pure functions. Invariants: the same members, in any order, get the same partitions; no member gets a topic to
which it does not subscribe; each partition of a topic with subscribers goes to exactly one of them; topics
that no longer exist are left out.

model     what an assignor is given, and what it returns
placing   partitions as numbers, and members with their partitions: the input of the uniform assignor
uniform   as even as the subscriptions allow, and as few moves as that takes
leveling  the same where members subscribe to different topics
range     ranges of each topic, the same ranges of topics of the same size
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from odradek.coordinator.assignors import range as range_assignor
from odradek.coordinator.assignors import uniform
from odradek.coordinator.assignors.model import Assignment, Assignor, Subscriber

ASSIGNORS: Final[Mapping[str, Assignor]] = MappingProxyType(
    {"uniform": uniform.assign, "range": range_assignor.assign}
)
"""The assignors by name; the first one applies to members that name none."""

__all__ = ["ASSIGNORS", "Assignment", "Assignor", "Subscriber"]
