"""The follower's side of replication: fetches records from leaders, and truncates what leaders do not have.

A sans-I/O core: it decides what to request from a leader next, and applies answers to the local logs. Its
owner (`server.node.replica_fetchers`) sends the requests ("asks"), runs the steps of the answers, and holds
the timer.

    LeaderAndIsr ──► FetcherManager ──► Fetcher (source broker 2, number 0) ──► asks ──► broker 2
                     which partition     │  PartitionQueues: each partition by        │
                     belongs to which    │  its state (`followed_partition`)          ▼
                                         │  LeaderSession: what changed since      answers
                     FollowerLogs  ◄─────┴─────────── steps ──────────────────────────┘
                     append, truncate, HW and log start

Invariants:

- Below HW a follower's log is, byte for byte, a part of its leader's. Records come only from a leader, are
  appended at LEO (X2), and only after the epochs of the two logs were compared (X4).
- An answer is applied only to a partition that has the same leader epoch, state and offset as when the
  request was sent. Otherwise the answer is dropped, and the request is sent again if it is still needed.
- A fetcher has at most one request in flight. The cost of a request depends on how many partitions changed,
  not on how many there are; the cost of an answer is spread over steps.
- An error of one partition delays or fails that partition only (X5). The whole fetcher backs off only when a
  request gets no answer, because then its leader cannot be reached for any partition.

A worked example. Broker 1 led p in epoch 3 up to offset 10; broker 2, elected for epoch 4, has 8 of these
records and has written two of its own:

    broker 1   epoch 3: 0-9               broker 2   epoch 3: 0-7   epoch 4: 8-9

    follow(p, leader 2, epoch 4)          p is TRUNCATING
    next_ask()                            EpochEndsAsk(p: where does epoch 3 end?)
    on_epoch_ends(p: epoch 3 ends at 8)   cut from 10 to 8; p is FETCHING
    next_ask()                            FetchAsk(epoch 0: p from 8, last epoch 3), which opens a session
    on_fetched(session 7, p: 8-9, HW 8)   appended; LEO 10, HW 8; p lags by nothing
    next_ask()                            FetchAsk(session 7, epoch 1: p from 10, last epoch 4)
    on_fetched(session 7, p: HW 10)       HW 10: broker 2 knows that p has all records
    next_ask()                            FetchAsk(session 7, epoch 2), which names no partition and waits
    on_unanswered("timed out")            the fetcher waits for the backoff, then opens another session

The files: `followed_partition` has the states, `partition_queues` the partitions by state, `truncation` the
truncation offset, `throttle` the quota (F8), `leader_session` KIP-227, `portions` the size of a step, `asks`
the requests and answers, `fetcher_ports` the ports.
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
