"""The classic group protocol: members join, their leader assigns, all sync, then send heartbeats.

states              one table: five states, the events, and the outcome of each
member, classic_membership
                    the state of a member, and of a group's members together
joining, syncing, leaving, heartbeats
                    one part of the protocol each: a request or a deadline in, effects out
effects             what a step must cause: answers, deadlines, writes
delayed_*           the delayed operations in the purgatories
answers             the answers to members
classic_protocol    the protocol as one group runs it: takes requests and deadlines, carries the effects out
classic_words       what a group waits for, in words
"""

from typing import TYPE_CHECKING

from odradek.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from odradek.coordinator.classic.classic_membership import ClassicMembership
    from odradek.coordinator.classic.classic_protocol import ClassicProtocol, Persistence
    from odradek.coordinator.classic.states import GroupState
    from odradek.coordinator.classic.terms import Caller, Terms

__all__ = ["Caller", "ClassicMembership", "ClassicProtocol", "GroupState", "Persistence", "Terms"]

__getattr__ = lazy_names(
    __name__,
    {
        "Caller": "odradek.coordinator.classic.terms",
        "ClassicMembership": "odradek.coordinator.classic.classic_membership",
        "ClassicProtocol": "odradek.coordinator.classic.classic_protocol",
        "GroupState": "odradek.coordinator.classic.states",
        "Persistence": "odradek.coordinator.classic.classic_protocol",
        "Terms": "odradek.coordinator.classic.terms",
    },
)
