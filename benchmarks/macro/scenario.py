"""Scenarios: a name, the figures that it yields with their goals, and how a broker is measured."""

import enum
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from peers import BrokerProcess

# A goal missed by less counts as met: the spread of runs on a shared machine is no smaller.
GOAL_TOLERANCE = 0.05


class Better(enum.Enum):
    """In which direction a figure is good."""

    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True, slots=True)
class Figure:
    """One number that a scenario measures.

    `ratio_goal` is for Odradek's figure divided by Apache Kafka's, `goal` for Odradek's figure by itself;
    either may be missing.
    """

    name: str
    unit: str
    better: Better
    ratio_goal: float | None = None
    goal: float | None = None

    def meets(self, value: float, goal: float) -> bool:
        """Whether a value reaches a goal within the tolerance."""
        if self.better is Better.HIGHER:
            return value >= goal * (1 - GOAL_TOLERANCE)
        return value <= goal * (1 + GOAL_TOLERANCE)


class LeftOut(Exception):
    """The broker does not serve what the scenario measures; the message says what. Nothing is recorded."""


class Scenario(ABC):
    """One way of using a broker. A scenario makes its own topics and deletes them."""

    name: ClassVar[str]
    title: ClassVar[str]
    figures: ClassVar[tuple[Figure, ...]]
    by_name_only: ClassVar[bool] = False
    """Whether it takes so long that it is run only where it is asked for by name."""

    @abstractmethod
    def measure(self, broker: BrokerProcess, *, quick: bool) -> Mapping[str, float]:
        """Measure a running broker once, after a warm-up; returns a value for each of `figures`.

        `quick` makes it short, to check that it works; such figures are not worth recording. Raises LeftOut.
        """


class CpuMeter:
    """Processor time that a broker uses while the block runs."""

    __slots__ = ("_before_s", "_broker", "used_s")

    def __init__(self, broker: BrokerProcess) -> None:
        self._broker = broker
        self._before_s = 0.0
        self.used_s = 0.0

    def __enter__(self) -> "CpuMeter":
        self._before_s = self._broker.cpu_s()
        return self

    def __exit__(self, *_: object) -> None:
        self.used_s = self._broker.cpu_s() - self._before_s
