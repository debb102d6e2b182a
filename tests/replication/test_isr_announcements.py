"""When ISR changes are announced."""

from collections.abc import Container

from odradek.base.ids import TopicPartition
from odradek.replication.isr_announcements import IsrAnnouncements

p1, p2 = TopicPartition("flights", 1), TopicPartition("flights", 2)
ROUND_MS = 2500


def announced_at(
    changes_ms: Container[int], until_ms: int, announcements: IsrAnnouncements | None = None
) -> list[int]:
    announcements = announcements or IsrAnnouncements()
    found = []
    for now_ms in range(0, until_ms + 1, 500):
        if now_ms in changes_ms:
            announcements.note(p1, now_ms)
        if now_ms % ROUND_MS == 0 and announcements.take_due(now_ms):
            found.append(now_ms)
    return found


def test_the_first_change_ever_is_announced_at_the_next_round() -> None:
    """R4: the last announcement is over 60 s ago, for there was none."""
    assert announced_at({1000}, 20_000) == [2500]


def test_changes_are_held_until_they_have_stopped_for_five_seconds() -> None:
    """R4: the last change at 6 s; at 10 s it is 4 s old, at 12.5 s over 5 s."""
    assert announced_at({0, 3000, 4000, 5000, 6000}, 20_000) == [0, 12_500]


def test_changes_that_never_stop_are_announced_once_a_minute() -> None:
    """R4: over 60 s after the last announcement."""
    assert announced_at(set(range(0, 130_000, 1000)), 126_000) == [0, 62_500, 125_000]


def test_exactly_five_seconds_are_not_over_five() -> None:
    """R4."""
    announcements = IsrAnnouncements()
    announcements.note(p1, 0)
    announcements.take_due(0)
    announcements.note(p2, 1000)
    assert announcements.take_due(6000) == []
    assert announcements.take_due(6001) == [p2]


def test_a_partition_that_changed_twice_is_announced_once_in_order_of_change() -> None:
    """R4: and the set is cleared."""
    announcements = IsrAnnouncements()
    for partition in (p2, p1, p2):
        announcements.note(partition, 0)
    assert announcements.take_due(0) == [p2, p1]
    assert announcements.take_due(100_000) == []
