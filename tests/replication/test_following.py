"""What a fetcher may do to the logs that follow here."""

from collections.abc import Callable

import pytest

from odradek.base.errors import StorageFailure
from odradek.base.ids import TopicPartition
from odradek.replication.following import Following
from tests.replication.replica_bench import ReplicaBench

P = TopicPartition("orders", 0)


@pytest.mark.parametrize("change", [Following.truncate, Following.start_anew])
def test_a_log_whose_directory_went_offline_just_now_fails_as_its_disk_does(
    bench: ReplicaBench, change: Callable[[Following, TopicPartition, int], None]
) -> None:
    """X5: partitions leave one by one, and an answer may come between: seed 815 of the simulator."""
    bench.order(P, leader=2, isr=(1, 2), replicas=(1, 2))
    following = Following(
        bench.manager, bench.logs, lambda named: None, bench.turns.append, lambda cut_off: None
    )
    bench.logs.fail_directory("/data", "no space left on device")
    with pytest.raises(StorageFailure, match="orders-0 cannot be truncated: its log directory is offline"):
        change(following, P, 0)
