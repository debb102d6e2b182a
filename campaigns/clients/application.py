"""What all applications of a run share: the cluster, the ledger, the seed's chance, and calls with a limit.

    async with setting.within(20, "poll", consumer): ...       a call that takes longer is a broken promise
    setting.refused("poll", error)                             an error that the application was told

An error that no mishap explains is a broken promise, too.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Final, Protocol

from campaigns.clients.ledger import Ledger
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import OdradekError
from odradek.client.core.waiting import Why
from odradek.testing.application.cluster import Cluster

SOURCE: Final = "source"
COPY: Final = "copy"
PARTITIONS: Final = 2

API_MS: Final = 10_000
"""`default.api.timeout.ms` and `max.block.ms` of all clients."""
BROKER_SESSION_MS: Final = 1_000
"""A broker that stands still for so long may have lost its roles, and knows that it may."""
SESSION_MS: Final = 6_000
SLACK_S: Final = 15.0
"""How much later than it promised a call may end: its process may have stood still meanwhile."""


class Says(Protocol):
    """A client that says what it waits for."""

    def why(self) -> list[Why]:
        """The causes, the most important first."""


@dataclass(slots=True)
class Setting:
    """See the module."""

    cluster: Cluster
    ledger: Ledger
    chance: Random
    """Each application draws from it; its order is that of the world's steps."""
    is_writing: bool = True
    """Whether producers go on; in the end they stop first."""
    is_running: bool = True
    """Whether the others go on."""

    @property
    def common(self) -> dict[str, object]:
        """Settings of every client."""
        return {
            "bootstrap.servers": self.cluster.bootstrap_servers,
            "request.timeout.ms": self.chance.choice((2_000, 4_000)),
            "metadata.max.age.ms": self.chance.choice((2_000, 300_000)),
        }

    @asynccontextmanager
    async def within(self, seconds: float, call: str, client: Says) -> AsyncIterator[None]:
        """A call that ends within so many seconds, and `SLACK_S`."""
        try:
            async with asyncio.timeout(seconds + SLACK_S):
                yield
        except TimeoutError:
            causes = "; ".join(map(str, client.why())) or "nothing"
            self.ledger.broken(f"{call} has not ended after {seconds:g} s; it waits for: {causes}")
            raise

    def refused(self, call: str, error: OdradekError, passing: frozenset[ErrorCode]) -> None:
        """Count an error; one that is not among `passing` is a broken promise."""
        code = getattr(error, "code", None)
        name = code.name if isinstance(code, ErrorCode) else type(error).__name__
        self.ledger.counts[f"{call}: {name}"] += 1
        if code not in passing:
            self.ledger.broken(f"{call} ends with {name}: {error}")
