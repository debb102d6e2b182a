"""The worked examples of KIP-101 and KIP-279, and others of that kind: logs are equal below HW afterwards."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.settings import TopicConfig
from odradek.replication.fetcher import EpochEndsAsk, NoteKind, State
from odradek.storage.checkpoint import read_offsets
from odradek.storage.file_names import RECOVERY_POINTS
from tests.replication.fetcher.brokers import Brokers, P

UNCLEAN = TopicConfig(unclean_leader_election_enable=True)


def both(brokers: Brokers) -> tuple[int, int]:
    return brokers[1].log().end_offset, brokers[2].log().end_offset


def epochs_asked(brokers: Brokers, broker_id: int) -> list[int]:
    return [one.epoch for ask in brokers[broker_id].asks if isinstance(ask, EpochEndsAsk) for one in ask.asks]


def test_a_follower_that_restarts_keeps_what_its_leader_has() -> None:
    """KIP-101, first scenario; X4: it has m2, its HW does not know; the leader dies after it has asked."""
    brokers = Brokers((1, 2))
    brokers.elect(2, isr=(1, 2))
    brokers[2].produce()
    brokers.settle()
    brokers[1].write_checkpoints()
    brokers[2].produce()
    brokers.round()
    assert (both(brokers), brokers[1].log().high_watermark.offset) == ((2, 2), 1)
    brokers[1].kill()
    brokers[1].start()
    brokers.elect(2, isr=(1, 2))
    brokers.round()
    assert brokers[1].log().end_offset == 2, "cut to HW"
    brokers[2].kill()
    brokers.elect(1, isr=(1,))
    assert brokers[1].log().high_watermark.offset == 2
    brokers[2].start()
    brokers.elect(1, isr=(1,))
    brokers.settle()
    assert both(brokers) == (2, 2)
    brokers.check_logs()


def test_a_follower_that_restarts_and_is_elected_keeps_what_it_has() -> None:
    """KIP-101, first scenario, as it is when the leader is gone before anybody could be asked."""
    brokers = Brokers((1, 2))
    brokers.elect(2, isr=(1, 2))
    brokers[2].produce(2)
    brokers.round()
    brokers.round()
    assert (both(brokers), brokers[1].log().high_watermark.offset) == ((2, 2), 0)
    brokers[2].kill()
    brokers[1].kill()
    brokers[1].start()
    brokers.elect(1, isr=(1, 2))
    assert brokers[1].log().end_offset == 2
    brokers[2].start()
    brokers.elect(1, isr=(1, 2))
    brokers.settle()
    assert both(brokers) == (2, 2)
    assert brokers[1].log().high_watermark.offset == 2
    brokers.check_logs()


def test_replicas_that_lost_power_do_not_diverge() -> None:
    """KIP-101, second scenario; X4, X6: 2 lost one of two records, came back first and wrote another."""
    brokers = Brokers((1, 2))
    brokers.elect(1, isr=(1, 2))
    brokers[1].produce()
    brokers.settle()
    brokers[2].log().flush()
    brokers[2].write_checkpoints()
    brokers[1].produce()
    brokers.settle()
    assert both(brokers) == (2, 2)
    brokers[1].log().flush()
    brokers[1].write_checkpoints()
    brokers[1].lose_power()
    brokers[2].lose_power()
    brokers[2].start()
    brokers.elect(2, isr=(2,))
    assert brokers[2].log().end_offset == 1
    brokers[2].produce()
    brokers[1].start()
    brokers.elect(2, isr=(2,))
    brokers.settle()
    assert both(brokers)[0] == both(brokers)[1]
    assert brokers[1].noted(NoteKind.TRUNCATED) == ["cut from 2 to 1, below the high watermark 2"]
    brokers.check_logs()
    assert brokers[1].log().epoch_of(1) == brokers[2].log().epoch_of(1)


def test_a_fast_fail_over_does_not_leave_another_leaders_records() -> None:
    """KIP-279, KAFKA-6361; X4: 2 led epoch 1 alone, and the leader of epoch 2 has never heard of that."""
    brokers = Brokers((1, 2))
    brokers.elect(1, isr=(1, 2))
    brokers[1].produce(10)
    brokers.settle()
    brokers.elect(2, isr=(1, 2), only=(2,))
    brokers[2].produce(5)
    brokers.elect(1, isr=(1, 2))
    brokers[1].produce(10)
    brokers[2].asks.clear()
    brokers.settle()
    assert both(brokers) == (20, 20)
    assert epochs_asked(brokers, 2) == [1, 0]
    assert brokers[2].noted(NoteKind.TRUNCATED) == ["cut from 15 to 10"]
    brokers.check_logs()


def test_records_of_an_epoch_between_those_of_the_leader_are_found() -> None:
    """KIP-279, the example that needs more than one question; X4.

    leader      epoch 1: 0-4     epoch 2: 5-19      epoch 4: 20-
    follower    epoch 1: 0-9     epoch 3: 10-19
    """
    brokers = Brokers((1, 2), config=UNCLEAN)
    brokers.elect(2, isr=(1, 2))
    brokers.elect(2, isr=(1, 2))
    brokers[2].produce(5)
    brokers.settle()
    brokers[2].produce(5)
    brokers[2].is_reachable = False
    assert brokers.elect(1, isr=(1,), only=(1,)) == 2
    brokers[1].produce(15)
    assert brokers.elect(2, isr=(2,), only=(2,)) == 3
    brokers[2].produce(10)
    assert (brokers[1].log().end_offset, brokers[2].log().end_offset) == (20, 20)
    brokers[2].asks.clear()
    brokers.elect(1, isr=(1,))
    brokers[1].produce()
    brokers.settle()
    assert epochs_asked(brokers, 2) == [3, 1]
    assert both(brokers) == (21, 21)
    brokers.check_logs()
    assert [brokers[2].log().epoch_of(offset) for offset in (4, 5, 19, 20)] == [1, 2, 2, 4]


def test_a_leader_that_was_cut_meanwhile_is_compared_again_under_each_epoch() -> None:
    """KAFKA-7164; X4: 3 missed the epoch in which 1, its leader before and after, was cut."""
    brokers = Brokers((1, 2, 3), config=UNCLEAN)
    brokers.elect(1, isr=(1, 3))
    brokers[1].produce()
    brokers[2].is_reachable = True
    brokers.all[2].fetchers.unfollow(next(iter(brokers.epochs)))
    brokers.settle()
    assert [broker.log().end_offset for broker in brokers.all.values()] == [1, 0, 1]
    brokers.elect(2, isr=(2,), only=(1, 2))
    brokers.round()
    brokers.round()
    assert brokers[1].log().end_offset == 0
    brokers[2].kill()
    brokers.elect(1, isr=(1,), only=(1,))
    brokers[1].produce()
    brokers.elect(1, isr=(1,), only=(1, 3))
    brokers.settle()
    assert brokers[3].log().end_offset == 1
    brokers.check_logs()


def test_a_follower_that_is_ahead_of_an_unclean_leader_is_cut_to_it() -> None:
    """X4: three replicas, the one elected has least."""
    brokers = Brokers((1, 2, 3), config=UNCLEAN)
    brokers.elect(1, isr=(1, 2, 3))
    brokers[1].produce(3)
    brokers.settle()
    brokers[3].fetchers.unfollow(next(iter(brokers.epochs)))
    brokers.elect(1, isr=(1, 2), only=(1, 2))
    brokers[1].produce(4)
    brokers.settle()
    brokers[1].kill()
    brokers.elect(3, isr=(3,))
    brokers[3].produce(2)
    brokers[1].start()
    brokers.elect(3, isr=(3,))
    brokers.settle()
    assert [broker.log().end_offset for broker in brokers.all.values()] == [5, 5, 5]
    brokers.check_logs()
    assert brokers[2].noted(NoteKind.TRUNCATED) == ["cut from 7 to 3, below the high watermark 7"]


def test_an_epoch_that_wrote_nothing_is_cut_too() -> None:
    """X6: one who led without writing would answer a wrong end for it, were it elected again."""
    brokers = Brokers((1, 2))
    brokers.elect(1, isr=(1, 2))
    brokers[1].produce(2)
    brokers.settle()
    brokers.elect(2, isr=(1, 2), only=(2,))
    assert brokers[2].log().latest_epoch == 1
    brokers.elect(1, isr=(1, 2))
    brokers.round()
    assert (brokers[2].log().latest_epoch, brokers[2].state()) == (0, State.TRUNCATING)
    brokers[1].produce()
    brokers.settle()
    assert [brokers[2].log().epoch_of(offset) for offset in range(3)] == [0, 0, 2]
    brokers.check_logs()


@pytest.mark.parametrize("is_settled", [True, False])
@pytest.mark.parametrize("is_flushed", [True, False])
def test_a_cut_is_on_disk_before_anything_is_appended_behind_it(
    *, is_settled: bool, is_flushed: bool
) -> None:
    """X6: power is lost before or after the append; what was cut does not come back beside it."""
    brokers = Brokers((1, 2))
    brokers.elect(2, isr=(1, 2))
    brokers[2].produce(6)
    brokers[2].log().flush()
    brokers[2].write_checkpoints()
    brokers.elect(1, isr=(1,))
    brokers[1].produce(3)
    brokers[2].holds_disk = True
    brokers.settle()
    assert (brokers[2].state(), both(brokers)) == (State.SETTLING, (3, 0))
    if is_settled:
        brokers[2].settle_truncations()
        assert brokers[2].state() is State.FETCHING
        brokers.settle()
        assert both(brokers) == (3, 3)
    if is_flushed:
        brokers[2].log().flush()
    brokers[2].lose_power()
    brokers[2].holds_disk = False
    brokers[2].start()
    brokers.elect(1, isr=(1,))
    after = {(True, True): 3, (True, False): 0, (False, True): 0, (False, False): 6}
    assert brokers[2].log().end_offset == after[is_settled, is_flushed]
    brokers.settle()
    assert both(brokers) == (3, 3)
    brokers.check_logs()


@pytest.mark.parametrize("is_settled", [True, False])
def test_a_follower_that_becomes_the_leader_appends_behind_its_cut(*, is_settled: bool) -> None:
    """X6: until its cut is on disk it refuses appends; the broker's thread does not wait for the disk."""
    brokers = Brokers((1, 2))
    brokers.elect(2, isr=(1, 2))
    brokers[2].produce(6)
    brokers[2].log().flush()
    brokers[2].write_checkpoints()
    brokers.elect(1, isr=(1,))
    brokers[2].holds_disk = not is_settled
    brokers.round()
    brokers.elect(2, isr=(2,))
    assert (brokers[2].log().end_offset, brokers[2].log().is_settled) == (0, is_settled)
    if not is_settled:
        on_the_loop: list[str] = []
        brokers[2].disk.before_operation = lambda operation, path: on_the_loop.append(operation)
        brokers[2].produce(expected=ErrorCode.NOT_LEADER_OR_FOLLOWER)
        assert on_the_loop == []
        brokers[2].disk.before_operation = None
        brokers[2].settle_truncations()
    brokers[2].produce(2)
    assert brokers[2].log().end_offset == 2
    points, _ = read_offsets(brokers[2].disk, f"/data/{RECOVERY_POINTS}")
    assert points[P] == 0


def test_the_recovery_point_is_cut_before_the_append_also_where_the_disk_was_faster() -> None:
    """X6: what a flush in the background has brought to disk does not include the checkpoint."""
    brokers = Brokers((1, 2))
    brokers.elect(2, isr=(1, 2))
    brokers[2].produce(6)
    brokers[2].log().flush()
    brokers[2].write_checkpoints()
    brokers.elect(1, isr=(1,))
    brokers.round()
    assert brokers[2].log().end_offset == 0
    brokers[2].log().flush()
    brokers[1].produce(9)
    brokers.settle()
    assert brokers[2].log().end_offset == 9
    points, damage = read_offsets(brokers[2].disk, f"/data/{RECOVERY_POINTS}")
    assert (points[P], damage) == (0, None)


def diverged(*, is_unclean: bool) -> Brokers:
    """KIP-279's case, in which a follower asks twice: 2 has 0-9 of epoch 0 and 10-14 of epoch 1, 1 others."""
    brokers = Brokers((1, 2))
    brokers.elect(1, isr=(1, 2))
    brokers[1].produce(8)
    brokers.settle()
    brokers[1].kill()
    brokers.elect(2, isr=(2,))
    brokers[2].produce(5)
    brokers.elect(2, isr=(2,))
    brokers[2].produce(3)
    brokers[2].kill()
    brokers[1].start()
    brokers.elect(1, isr=(1,), is_unclean=is_unclean)
    brokers[1].produce(2)
    brokers[2].start()
    brokers.elect(1, isr=(1,))
    brokers.settle()
    assert both(brokers) == (10, 10)
    brokers.check_logs()
    return brokers


def test_what_an_unclean_election_took_is_reported_once() -> None:
    """R15e, X4: offsets and epochs of all that was cut, in however many cuts, and how much was committed."""
    brokers = diverged(is_unclean=True)
    found = brokers[2].cut_off[-1]
    assert (found.first_offset, found.end_offset) == (8, 16)
    assert (found.first_epoch, found.last_epoch) == (1, 2)
    assert (found.unclean_epoch, found.leader_epoch, found.leader_id) == (3, 4, 1)
    assert "offsets 8 to 15, of epochs 1 to 2, were cut off" in found.sentence()
    partition = brokers[2].replicas.partition(P)
    assert partition is not None
    assert partition.cut_off == found
    brokers.elect(2, isr=(2,))
    brokers[2].produce(4)
    brokers[2].kill()
    brokers.elect(1, isr=(1,))
    brokers[1].produce(1)
    brokers[2].start()
    brokers.elect(1, isr=(1,))
    brokers.settle()
    assert both(brokers)[0] == both(brokers)[1]
    assert brokers[2].noted(NoteKind.TRUNCATED), "its tail was never acknowledged"
    assert brokers[2].cut_off == [], "that is no loss by the unclean election"
    assert brokers[1].cut_off == []


def test_what_a_clean_election_takes_is_no_loss() -> None:
    """R15e"""
    brokers = diverged(is_unclean=False)
    assert brokers[2].noted(NoteKind.TRUNCATED) != []
    assert brokers[2].cut_off == []
