"""Hierarchical timing wheels, delayed operations and their purgatory.

The package must not know Kafka's protocol.
"""

from odradek.timer.delayed_operation import DelayedOperation
from odradek.timer.purgatory import Purgatory
from odradek.timer.standing_watch import StandingEntry, StandingWatch
from odradek.timer.timed_call import TimedCall
from odradek.timer.timer import Timer
from odradek.timer.timer_task import TimerTask
from odradek.timer.waiting_operation import WaitingOperation

__all__ = [
    "DelayedOperation",
    "Purgatory",
    "StandingEntry",
    "StandingWatch",
    "TimedCall",
    "Timer",
    "TimerTask",
    "WaitingOperation",
]
