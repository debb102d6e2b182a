"""Whole brokers in one process, without sockets, threads or time of their own: everything by the seed.

- `world`: the clock, the metadata store, the nodes; what happens next.
- `node`: one life of a broker: its node, its turns, what is asked of it, its end.
- `staging`: carries out the stages of its start and its stop.
- `threads`: its other threads.
- `faults`: what a test may set on it.
- `disk`: a disk as one life holds it.
- `cleaner`: compaction.
- `clocks`: the wall clock of each machine, which may be set.
- `drawn_time`: where long work is cut into slices.
- `links`: the network: which connections there are, and their faults.
- `streams`: one connection as bytes on their way; what is a socket elsewhere.
- `client`: the opener's side of a connection, a client's or a broker's.
- `listener`: the connections of one life, and where their requests go.
"""

from odradek.testing.sim.client import SimClient, SimConnection, SimRequest
from odradek.testing.sim.drawn_time import CountedTime
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.world import World

__all__ = ["CountedTime", "SimClient", "SimConnection", "SimNode", "SimRequest", "World"]
