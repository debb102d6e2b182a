"""Who an idempotent producer is: its id, from a broker, and the newest epoch that one of its partitions uses.

A partition whose sequence numbers have a gap begins again at 0 under the next epoch, which the producer
chooses itself (KIP-360). After the last epoch it asks for another id. In transactions the coordinator gives
each epoch.

    unknown --assigned(id, epoch)--> known --next_epoch(), the last epoch is used--> unknown
"""

from typing import Final

from odradek.base.ids import NO_PRODUCER_ID, ProducerId

EPOCH_MAX: Final = (1 << 15) - 1


class Identity:
    """See the module."""

    def __init__(self, *, is_transactional: bool = False) -> None:
        self.is_transactional: Final = is_transactional
        """Whether all partitions use its epoch, which only the coordinator raises."""
        self.producer_id: ProducerId = NO_PRODUCER_ID
        """NO_PRODUCER_ID while it must be asked for."""
        self.epoch = -1
        """Meaningless without an id; otherwise it only rises."""

    @property
    def is_known(self) -> bool:
        """Whether batches can be stamped."""
        return self.producer_id != NO_PRODUCER_ID

    def assigned(self, producer_id: ProducerId, epoch: int) -> None:
        """A broker gave this id."""
        self.producer_id, self.epoch = producer_id, epoch

    def next_epoch(self) -> bool:
        """Raise the epoch; False if the id has no more epochs, so that another one must be asked for."""
        assert self.is_known
        assert not self.is_transactional
        if self.epoch >= EPOCH_MAX:
            self.producer_id, self.epoch = NO_PRODUCER_ID, -1
            return False
        self.epoch += 1
        return True
