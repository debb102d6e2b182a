"""What every group of a broker shares (`Terms`), and what a group knows of a request's client (`Caller`)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from odradek.base.chance import Chance
from odradek.base.clock import Clock
from odradek.base.settings import BrokerSettings

SEVERAL_BROKERS_DELAY_MS = 3_000
"""`group.initial.rebalance.delay.ms` where it is not set and the cluster has more than one broker."""


def _no_overrides(group_id: str) -> Mapping[str, str]:
    return {}


def _not_said(group_id: str, generation: int, members: int) -> None:
    """The default callback for rebalances: does nothing."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Clock, random numbers and settings, the same for all groups of a broker."""

    clock: Clock
    chance: Chance
    settings_in_force: Callable[[], BrokerSettings]
    # How many brokers are live now.
    broker_count: Callable[[], int]
    # What is set for one group of the consumer protocol, by its id.
    group_overrides: Callable[[str], Mapping[str, str]] = _no_overrides

    # Called with a group, its new generation (or epoch, KIP-848), and how many members that has.
    on_rebalanced: Callable[[str, int, int], None] = _not_said

    @property
    def settings(self) -> BrokerSettings:
        """The settings now in force; do not keep the result."""
        return self.settings_in_force()

    def initial_rebalance_delay_ms(self) -> int:
        """How long the first rebalance of a group waits for more members."""
        delay_ms = self.settings.group_initial_rebalance_delay_ms
        if delay_ms is not None:
            return delay_ms
        return SEVERAL_BROKERS_DELAY_MS if self.broker_count() > 1 else 0


@dataclass(frozen=True, slots=True)
class Caller:
    """The client of a request, and what its request version supports."""

    client_id: str
    client_host: str
    # JoinGroup 4 and later: takes MEMBER_ID_REQUIRED and joins again with the id it was given (KIP-394).
    takes_member_id: bool = True
    # JoinGroup 9 and later: a leader understands that it must not assign (KIP-814).
    can_skip_assignment: bool = True
