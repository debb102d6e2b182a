"""What a follower loses by an unclean election (R15e): the records that the elected leader lacks.

A truncation is nothing unusual: after a clean election it drops records that were never acknowledged. After
an unclean one it may drop acknowledged records, and is reported. It is recognised by the epochs:

    the partition's last unclean election was in epoch 7
    the log's last epoch is 5    it has not met that election's leader yet: what it drops, it drops for that
    the log's last epoch is 7    it agrees with that leader: what it drops is the tail of a later leader

So each replica reports once, also one that was away for a week.
"""

from odradek.base.ids import BrokerId, LeaderEpoch, Offset, TopicPartition
from odradek.base.values import value


@value
class CutRecords:
    """Records that were dropped here, in `[first_offset, end_offset)`."""

    topic_partition: TopicPartition
    leader_id: BrokerId
    leader_epoch: LeaderEpoch
    unclean_epoch: LeaderEpoch
    """The epoch that began with the unclean election."""
    first_offset: Offset
    end_offset: Offset
    first_epoch: LeaderEpoch
    last_epoch: LeaderEpoch
    high_watermark: Offset
    """HW of this replica before: all records below it were committed, others may have been."""

    def sentence(self) -> str:
        """The report for a person."""
        topic, partition = self.topic_partition
        committed = min(self.high_watermark, self.end_offset) - self.first_offset
        return (
            f"{topic}-{partition}: offsets {self.first_offset} to {self.end_offset - 1}, of epochs"
            f" {self.first_epoch} to {self.last_epoch}, were cut off: the leader of the unclean election in"
            f" epoch {self.unclean_epoch} did not have them; {max(0, committed)} of them were known here as"
            " committed"
        )
