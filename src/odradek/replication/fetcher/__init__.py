"""The follower's side of replication: fetching what leaders have, and cutting off what they have not.

A sans-I/O core: it decides what to ask a leader next and what an answer does to the logs here. Its owner
(`server.node.replica_fetchers`) sends the asks, runs the steps of the answers, and holds the timer.

    LeaderAndIsr ──► FetcherManager ──► Fetcher (source broker 2, number 0) ──► asks ──► broker 2
                     which partition     │  PartitionQueues: each partition by        │
                     belongs to which    │  its state (`followed_partition`)          ▼
                                         │  LeaderSession: what changed since      answers
                     FollowerLogs  ◄─────┴─────────── steps ──────────────────────────┘
                     append, truncate, HW and log start

Invariants:

- Below HW a follower's log is, byte for byte, a part of its leader's. A record gets here only from a leader,
  at the offset that is the log's end (X2), after the epochs of the two logs were compared (X4).
- An answer is applied only to a partition that is followed as it was when it was asked for: same leader
  epoch, same state, same offset. Else it is dropped, and asked for again where it is still wanted.
- A fetcher has one request under way. What one request costs is in what changed, not in how many partitions
  there are; what an answer costs is spread over steps.
- An error of one partition delays or ends that partition (X5). Only a request without any answer lets the
  whole fetcher rest, for then its leader cannot be reached for any of them.

A worked example. Broker 1 led p in epoch 3 up to offset 10; broker 2, elected for epoch 4, has 8 of these
records and has written two of its own:

    broker 1   epoch 3: 0-9               broker 2   epoch 3: 0-7   epoch 4: 8-9

    follow(p, leader 2, epoch 4)          p is TRUNCATING
    next_ask()                            EpochEndsAsk(p: where does epoch 3 end?)
    on_epoch_ends(p: epoch 3 ends at 8)   cut from 10 to 8; p is FETCHING
    next_ask()                            FetchAsk(epoch 0: p from 8, last epoch 3), which opens a session
    on_fetched(session 7, p: 8-9, HW 8)   appended; LEO 10, HW 8; p lags by nothing
    next_ask()                            FetchAsk(session 7, epoch 1: p from 10, last epoch 4)
    on_fetched(session 7, p: HW 10)       HW 10: broker 2 has seen that p has all
    next_ask()                            FetchAsk(session 7, epoch 2), which names nothing and waits
    on_unanswered("timed out")            the fetcher rests for the backoff, then opens another session

The files: `followed_partition` the states, `partition_queues` who is in which, `truncation` where to cut,
`leader_session` KIP-227, `portions` the size of a step, `asks` and `fetcher_ports` what goes in and out.
"""

from odradek.replication.fetcher.asks import (
    Ask,
    EpochAsk,
    EpochEndAnswer,
    EpochEndsAsk,
    FetchAnswer,
    FetchAsk,
    OffsetAnswer,
    OffsetAsk,
    OffsetsAsk,
    PartitionAnswer,
    PartitionAsk,
)
from odradek.replication.fetcher.fetcher import Fetcher
from odradek.replication.fetcher.fetcher_manager import FetcherManager
from odradek.replication.fetcher.fetcher_ports import FollowedLog, FollowerLogs, Note, NoteKind, Notes
from odradek.replication.fetcher.followed_partition import FollowedPartition, State

__all__ = [
    "Ask",
    "EpochAsk",
    "EpochEndAnswer",
    "EpochEndsAsk",
    "FetchAnswer",
    "FetchAsk",
    "Fetcher",
    "FetcherManager",
    "FollowedLog",
    "FollowedPartition",
    "FollowerLogs",
    "Note",
    "NoteKind",
    "Notes",
    "OffsetAnswer",
    "OffsetAsk",
    "OffsetsAsk",
    "PartitionAnswer",
    "PartitionAsk",
    "State",
]
