"""What a leader learns from a follower's fetches."""

from odradek.replication.remote_replica import NEVER_MS, RemoteReplica
from odradek.storage import LogPosition
from odradek.storage.positions import UNKNOWN_POSITION


def fetch(replica: RemoteReplica, offset: int, leader_end: int, now_ms: int) -> int:
    replica.note_fetch(LogPosition(offset, 0, offset), 0, leader_end, now_ms)
    return replica.last_caught_up_ms


def test_a_follower_that_always_asks_for_the_previous_end_is_caught_up() -> None:
    """R10: the worked example of remote_replica.py."""
    replica = RemoteReplica(2)
    assert fetch(replica, 100, 100, 10) == 10
    assert fetch(replica, 100, 110, 20) == 10
    assert fetch(replica, 110, 125, 30) == 20
    assert fetch(replica, 110, 130, 40) == 20


def test_a_first_fetch_behind_the_leader_is_not_caught_up() -> None:
    """R10: there is no previous fetch whose leader end it could have reached."""
    replica = RemoteReplica(2)
    assert fetch(replica, 0, 5, 10) == NEVER_MS
    assert fetch(replica, 5, 9, 20) == 10


def test_an_older_catch_up_never_replaces_a_newer_one() -> None:
    """R10."""
    replica = RemoteReplica(2)
    replica.start_epoch(1000, in_sync=True)
    replica.noted_fetch_ms, replica.leader_end_at_last_fetch = 400, 5
    assert fetch(replica, 5, 9, 1100) == 1000


def test_a_new_epoch_forgets_where_a_follower_was() -> None:
    """R5b: LEO unknown; last caught up = now for members of the ISR, never for others."""
    replica = RemoteReplica(2)
    fetch(replica, 100, 100, 10)
    replica.note_answer(9)
    assert replica.high_watermark_sent == 9
    replica.start_epoch(50, in_sync=True)
    assert replica == RemoteReplica(2, UNKNOWN_POSITION, noted_caught_up_ms=50)
    replica.start_epoch(60, in_sync=False)
    assert replica == RemoteReplica(2)
