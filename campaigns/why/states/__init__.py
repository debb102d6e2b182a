"""The table of stuck states: by what keeps the client waiting."""

from typing import Final

from campaigns.why.states.admins import ADMINS
from campaigns.why.states.brokers import BROKERS
from campaigns.why.states.groups import GROUPS
from campaigns.why.states.partitions import PARTITIONS
from campaigns.why.states.producers import PRODUCERS
from campaigns.why.trial import State

STATES: Final[tuple[State, ...]] = (*GROUPS, *PARTITIONS, *BROKERS, *PRODUCERS, *ADMINS)
"""All kinds; a seed builds one of them, in turn."""
