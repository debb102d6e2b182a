"""The metadata store of a broker whose cluster is on several machines: sessions with ZooKeeper, over TCP."""

from collections.abc import Callable
from typing import Any

from odradek.base.chance import Chance
from odradek.base.execution import TurnTime
from odradek.base.system_errors import reason_of
from odradek.metadata.store import MetadataStore
from odradek.metadata.zookeeper.codec import REPLY_BYTES_MAX
from odradek.metadata.zookeeper.ensemble import Ensemble
from odradek.metadata.zookeeper.session import ServerEnd, SessionTimes, ZooKeeperSession
from odradek.net.guard import Guard, unguarded
from odradek.server.edge.loop_stalls import LoopStalls
from odradek.server.process.socket_channel import SocketChannel
from odradek.server.process.store_sessions import StoreSessions


class ZooKeeperStore(StoreSessions):
    """Makes sessions with one ensemble, for the running loop: a `BrokerStore`."""

    def __init__(
        self,
        ensemble: Ensemble,
        times: Callable[[], SessionTimes],
        chance: Chance,
        turn_time: TurnTime,
        stalls: LoopStalls,
        guard: Guard = unguarded,
    ) -> None:
        """`guard` stands between a connection and its transport."""
        super().__init__(turn_time, stalls)
        self.ensemble = ensemble
        self._times = times
        self._chance = chance
        self._guard = guard

    def session(self) -> MetadataStore:
        """Returns a `MetadataStore` that is not open yet; its first server is drawn."""
        session = ZooKeeperSession(
            self,
            self.ensemble,
            self._driver.timer,
            self._defer,
            self._slices.run,
            self._times,
            self._on_closed,
            self._chance.below(len(self.ensemble.servers)),
        )
        self._sessions[session] = None
        return session

    def dial(self, server: tuple[str, int], end: ServerEnd) -> None:
        """See `ServerDialer.dial`."""
        self._begin_connecting(self._connect(server, end))

    async def _connect(self, server: tuple[str, int], end: ServerEnd) -> None:
        def made() -> Any:  # noqa: ANN401 - asyncio's types want a streaming protocol
            channel = SocketChannel(
                end,
                end.codec.decode,
                end.codec.encode,
                self._scratch,
                self._slices.run,
                frame_bytes_max=REPLY_BYTES_MAX,
            )
            return self._guard(channel)

        try:
            await self._loop.create_connection(made, *server)
        except OSError as error:
            end.on_lost(reason_of(error))
