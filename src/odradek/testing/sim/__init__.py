"""Complete brokers in one process, without sockets, threads or real time; the seed decides everything.

- `world`: the clock, the metadata store, the nodes; what happens next.
- `node`: one life of a broker (one process): its node, its turns, requests to it, its end.
- `staging`: carries out the stages of its start and its stop.
- `threads`: its other threads.
- `faults`: the faults that a test can set on it.
- `disk`: one life's handle of a disk.
- `cleaner`: compaction.
- `clocks`: the wall clock of each machine, which a test can set.
- `drawn_time`: decides where long work is cut into slices.
- `links`: the network: the connections, and their faults.
- `streams`: one connection as bytes in transit; it replaces a socket.
- `client`: the opener's side of a connection, a client's or a broker's.
- `observer`: the port of who watches a world; `history` records what happens in it.
- `stored`: the cluster as the metadata store describes it, and the batches of a log.
- `listener`: the connections of one life, and the routing of their requests.
"""

from odradek.testing.sim.client import SimClient, SimConnection, SimRequest
from odradek.testing.sim.drawn_time import CountedTime
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.world import World

__all__ = ["CountedTime", "SimClient", "SimConnection", "SimNode", "SimRequest", "World"]
