"""Gives leaderships back to preferred leaders (`auto.leader.rebalance.enable`), at the controller.

Every `leader.imbalance.check.interval.seconds` the controller elects the preferred leader of each partition
that another broker leads, where it is live and in sync: a broker that was restarted leads again what it led
before. As in Apache Kafka 4.3 it does not matter how large a share of a broker's partitions that is. One
decision elects ELECTIONS_MAX leaders at most; the next one follows when the controller has dealt with what
arrived meanwhile.
"""

import logging
from collections.abc import Callable
from typing import Final, Protocol

from odradek.metadata.controller.requests import Answer, RebalanceLeaders, RebalanceProgress, Refused

_log = logging.getLogger(__name__)

ELECTIONS_MAX: Final = 1_000


class OwnController(Protocol):
    """This broker's own controller."""

    @property
    def is_active(self) -> bool:
        """Whether this broker is the controller."""

    def submit(self, request: RebalanceLeaders, answered: Callable[[Answer], None]) -> None:
        """Ask it; `answered` is called once, in a later turn."""


class LeaderRebalance:
    """The rebalancing of one broker."""

    def __init__(self, controller: OwnController) -> None:
        self._controller = controller
        # Whether a request is under way.
        self._is_asking = False

    def look(self) -> None:
        """Give back what can be given back now; called once per interval."""
        if self._controller.is_active and not self._is_asking:
            self._ask()

    def _ask(self) -> None:
        self._is_asking = True
        self._controller.submit(RebalanceLeaders(ELECTIONS_MAX), self._on_answer)

    def _on_answer(self, answer: Answer) -> None:
        self._is_asking = False
        if isinstance(answer, Refused):
            _log.info("leaderships were not given back to preferred leaders: %s", answer.message)
            return
        assert isinstance(answer, RebalanceProgress), answer
        if answer.elected:
            _log.info("%d leaderships were given back to preferred leaders", answer.elected)
        if answer.has_more:
            self._ask()
