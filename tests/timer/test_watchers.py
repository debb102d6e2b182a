"""The lists of a purgatory, without a purgatory."""

from typing import ClassVar

from odradek.timer.delayed_operation import DelayedOperation
from odradek.timer.watchers import Watchers


class Open(DelayedOperation):
    """Open until it is forced."""

    kind: ClassVar[str] = "open"

    def try_complete(self) -> bool:
        return False

    def on_complete(self) -> None:
        """Nothing to answer."""

    def waits_for(self) -> str:
        return "someone to force it"


def watchers_of(**lists: list[DelayedOperation]) -> Watchers[str]:
    watchers: Watchers[str] = Watchers()
    for key, operations in lists.items():
        for operation in operations:
            watchers.watch(operation, [key])
    return watchers


def test_each_key_lists_its_operations_in_arrival_order() -> None:
    """D3 one operation under many keys."""
    watchers: Watchers[str] = Watchers()
    first, second = Open(0), Open(0)
    watchers.watch(first, ["P1", "P2"])
    watchers.watch(second, ["P2", "P3"])
    assert watchers.by_key == {"P1": [first], "P2": [first, second], "P3": [second]}
    assert watchers.watched == 4


def test_dropping_what_is_complete_touches_one_key_only() -> None:
    """D5 D6 the other keys keep it, completed."""
    done, waits = Open(0), Open(0)
    watchers = watchers_of(P1=[done, waits], P2=[done])
    done.force_complete()
    watchers.drop_completed("P1")
    assert watchers.by_key == {"P1": [waits], "P2": [done]}
    assert watchers.watched == 2
    watchers.drop_completed("P2")
    assert watchers.by_key == {"P1": [waits]}, "a key left empty is dropped"
    watchers.drop_completed("P2")
    assert watchers.watched == 1


def test_a_list_keeps_its_identity_while_its_key_is_known() -> None:
    done, waits = Open(0), Open(0)
    watchers = watchers_of(P1=[done, waits])
    operations = watchers.by_key["P1"]
    done.force_complete()
    watchers.drop_completed("P1")
    assert watchers.by_key["P1"] is operations


def test_dropping_between_two_entries_says_where_to_go_on() -> None:
    """D6 slices."""
    operations: list[DelayedOperation] = [Open(0) for _ in range(6)]
    watchers = watchers_of(P1=operations)
    for index in (0, 2, 3):
        operations[index].force_complete()
    assert watchers.drop_completed_between("P1", 0, 3) == 1
    assert watchers.by_key["P1"] == [operations[index] for index in (1, 3, 4, 5)]
    assert watchers.drop_completed_between("P1", 1, 4) == 3
    assert watchers.by_key["P1"] == [operations[index] for index in (1, 4, 5)]
    assert watchers.watched == 3
    assert watchers.drop_completed_between("unknown", 0, 3) == 0


def test_a_slice_that_empties_a_list_drops_its_key() -> None:
    """D6 a key does not outlive its last operation."""
    done = Open(0)
    watchers = watchers_of(P1=[done])
    done.force_complete()
    assert watchers.drop_completed_between("P1", 0, 10) == 0
    assert watchers.by_key == {}
    assert watchers.watched == 0


def test_unwatching_leaves_the_others_where_they_are() -> None:
    stays, goes = Open(0), Open(0)
    watchers = watchers_of(P1=[stays, goes], P2=[goes], P3=[stays])
    watchers.unwatch(goes, ["P1", "P2", "P3", "P4"])
    assert watchers.by_key == {"P1": [stays], "P3": [stays]}
    assert watchers.watched == 2


def test_a_dropped_key_gives_up_its_operations() -> None:
    """D8."""
    first, second = Open(0), Open(0)
    watchers = watchers_of(P1=[first, second], P2=[second])
    assert watchers.drop_key("P1") == [first, second]
    assert watchers.drop_key("P1") == []
    assert watchers.by_key == {"P2": [second]}
    assert watchers.watched == 1
