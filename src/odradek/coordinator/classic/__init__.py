"""The classic group protocol: members join, their leader assigns, everybody syncs, then sends heartbeats.

states              the one table: five states, what may happen, what comes of it
member, group       what is known of a member and of a group
joining, syncing, leaving, heartbeats
                    one part of the protocol each: a request or a deadline in, effects out
effects             what must happen next: answers, deadlines, writes
delayed_*           what waits in a purgatory, and for what
coordinator         one object per group: takes requests and deadlines, carries the effects out
"""

from odradek.coordinator.classic.coordinator import ClassicCoordinator, Persistence
from odradek.coordinator.classic.group import ClassicGroup
from odradek.coordinator.classic.states import GroupState
from odradek.coordinator.classic.terms import Caller, Terms

__all__ = ["Caller", "ClassicCoordinator", "ClassicGroup", "GroupState", "Persistence", "Terms"]
