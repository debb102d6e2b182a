"""Bugs of replication and transactions, planted one at a time: a campaign that misses one soon finds nothing.

    with PLANTED["truncation skipped"]():
        run_trial(0)

Each is a small change to one or two methods, of the kind that a person makes; the files hold them by room.
`docs/testing.md` lists the seeds that find them.
"""

from collections.abc import Mapping
from typing import Final

from campaigns.sim.planted.controllers import CONTROLLERS
from campaigns.sim.planted.disks import DISKS
from campaigns.sim.planted.groups import GROUPS
from campaigns.sim.planted.orders import ORDERS
from campaigns.sim.planted.planting import Plant
from campaigns.sim.planted.removals import REMOVALS
from campaigns.sim.planted.replicas import REPLICAS
from campaigns.sim.planted.transactions import TRANSACTIONS

PLANTED: Final[Mapping[str, Plant]] = {
    **REPLICAS,
    **DISKS,
    **CONTROLLERS,
    **ORDERS,
    **GROUPS,
    **TRANSACTIONS,
    **REMOVALS,
}
"""The bugs by what a person would call them."""

FOUND_BY: Final[Mapping[str, int]] = {
    "HW at append": 0,
    "HW before the whole ISR replied": 0,
    "shrink in memory before the store": 1,
    "truncation skipped": 7,
    "truncation to HW instead of the epoch's end": 0,
    "follower's HW above its LEO": 1,
    "a session misses news": 13,
    "HW and acks=all below min ISR": 1,
    "anyone who fetches joins the ISR": 0,
    "deletions of records not followed": 0,
    "consumers read up to LEO": 0,
    "truncation without barrier": 7,
    "epoch cache not cut at LEO": 8,
    "directory not synced": 0,
    "checkpoint before the data": 1,
    "recovery point kept at a truncation": 1,
    "leader epochs not saved": 0,
    "producers kept after a truncation": 3,
    "producers forgotten at a start": 1,
    "HW forgotten at a start": 0,
    "batches not verified after a crash": 0,
    "an unclean log taken for clean": 1,
    "ELR off": 0,
    "stale broker epoch joins": 5,
    "LeaderAndIsr before the image": 0,
    "no UpdateMetadata for a broker that joins": 0,
    "claim not recognised": 1,
    "unclean election though disabled": 7,
    "a deposed controller decides on": 1,
    "ISR written over a newer state": 5,
    "controller epoch unchecked": 18,
    "ISR changes not announced": 13,
    "watches lost on reconnection": 4,
    "commit answered before HW": 10,
    "offsets answered before HW": 10,
    "commit of an old generation accepted": 4,
    "commit of one that is no member accepted": 0,
    "fenced member accepted": 4,
    "assignment handed out before revocation": 0,
    "generation forgotten at a load": 0,
    "epochs forgotten at a load": 0,
    "owners forgotten at a load": 2,
    "tombstones lost at a load": 2,
    "only the first segment loaded": 0,
    "groups kept after the leadership": 18,
    "joins not answered after the leadership": 0,
    "offsets of an aborted transaction count": 1,
    "sessions never end": 2,
    "sessions do not begin at a load": 6,
    "marker to the first partition only": 1,
    "no marker again where one was refused": 19,
    "PrepareCommit forgotten at a failover": 3,
    "a commit answered before it is replicated": 10,
    "epoch not bumped by a timeout or a fencing": 1,
    "epoch not bumped for the next owner": 13,
    "a fenced producer ends a transaction": 3,
    "transactions kept after the leadership": 1,
    "timeouts abort nothing": 3,
    "partitions not added by a produce": 1,
    "compaction takes the last of a key, too": 3,
    "compaction moves what it keeps": 3,
    "compaction keeps aborted records": 13,
    "compaction above LSO": 13,
    "a deleted replica is hosted on": 0,
    "deletion not taken up where a broker comes back": 3,
}
"""A seed of the default mix that finds the bug."""

__all__ = ["FOUND_BY", "PLANTED", "Plant"]
