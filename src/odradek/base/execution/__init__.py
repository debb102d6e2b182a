"""Runs work that takes long or waits: in steps, in later turns of the loop, on other threads.

- `ports`: later turns and other threads, as ports.
- `lane`: calls on other threads, one after another.
- `steps`: long work as a generator of steps; `pace`: groups its small items.
- `freeing`: frees values of very many objects in steps.
- `turn_time`: how long all stepped work may hold one turn of the loop.
- `slices`: runs steps within that.
"""

from odradek.base.execution.freeing import freed
from odradek.base.execution.lane import Lane
from odradek.base.execution.pace import Pace
from odradek.base.execution.ports import Background, Defer, Later, deliver
from odradek.base.execution.slices import Failed, Slices, StallWatch
from odradek.base.execution.steps import (
    COUNTED_PER_STEP,
    ITEMS_PER_STEP,
    LISTED_PER_STEP,
    Asking,
    RunSteps,
    Steps,
    begun,
    counted,
    exhaust,
    listed,
    ordered,
    stepwise,
    stepwise_in,
)
from odradek.base.execution.turn_time import TURN_NS, TurnTime

__all__ = [
    "COUNTED_PER_STEP",
    "ITEMS_PER_STEP",
    "LISTED_PER_STEP",
    "TURN_NS",
    "Asking",
    "Background",
    "Defer",
    "Failed",
    "Lane",
    "Later",
    "Pace",
    "RunSteps",
    "Slices",
    "StallWatch",
    "Steps",
    "TurnTime",
    "begun",
    "counted",
    "deliver",
    "exhaust",
    "freed",
    "listed",
    "ordered",
    "stepwise",
    "stepwise_in",
]
