"""Which worker runs which tests: one has those of the one broker, the other those of the other.

So every broker is started once, its tests are in their usual order, and nothing else runs on it meanwhile.
Files whose tests start brokers of their own are for whichever worker is done first, each as a whole.
"""

import re
from typing import Final

from peers import BROKERS
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

_BROKER: Final = re.compile(rf"\[({'|'.join(sorted(map(re.escape, BROKERS), key=len, reverse=True))})[\]-]")


class Lanes(LoadScopeScheduling):  # type: ignore[misc]
    """xdist's scheduling of tests that belong together."""

    def _split_scope(self, nodeid: str) -> str:
        return lane_of(nodeid)


def lane_of(test: str) -> str:
    """The broker that a test's id begins with in its brackets, else the file."""
    found = _BROKER.search(test)
    return found[1] if found else test.partition("::")[0]
