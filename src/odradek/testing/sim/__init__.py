"""Whole brokers in one process, without sockets, threads or time of their own: everything by the seed.

- `world`: the clock, the metadata store, the nodes; what happens next.
- `node`: one broker of the world: its node, its disk, its turns.
- `drawn_time`: where long work is cut into slices.
- `client`: requests as the wire's bytes, and their answers.
"""

from odradek.testing.sim.client import SimClient, SimRequest
from odradek.testing.sim.drawn_time import CountedTime
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.world import World

__all__ = ["CountedTime", "SimClient", "SimNode", "SimRequest", "World"]
