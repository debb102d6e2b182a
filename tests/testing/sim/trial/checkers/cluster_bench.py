"""Three brokers with one partition, whose state tests write into the store by themselves."""

from collections.abc import Sequence

from odradek.base.ids import BrokerId, TopicPartition
from odradek.metadata import codec, paths
from odradek.metadata.image import PartitionImage
from odradek.metadata.store import SetData
from odradek.records.builder import BatchBuilder
from odradek.storage import Origin
from odradek.testing.sim import World
from odradek.testing.sim.trial.checkers import Scene
from odradek.testing.sim.trial.cluster_view import ClusterView
from odradek.testing.sim.trial.disk_losses import DiskLosses
from odradek.testing.sim.trial.history import History
from odradek.testing.sim.trial.plan import draw_plan
from odradek.testing.sim.trial.transactions import Transactions
from odradek.testing.sim.trial.workloads.topics import creation

PARTITION = TopicPartition("t", 0)


class ClusterBench:
    """A topic's only partition, t-0, has the replicas 1, 2 and 3 and the min ISR 2; broker 1 leads it."""

    def __init__(self, topic: str = "t", seed: int = 1, **settings: str) -> None:
        self.world = World(brokers=3)
        view = ClusterView(self.world)
        request = creation(topic, 1, 3, min_insync_replicas="2", **settings)
        self.world.nodes[view.controller()].ask(request)
        self.world.advance(1_000)
        self.history = History()
        self.transactions = Transactions()
        self.scene = Scene(
            view, self.history, DiskLosses(view), draw_plan(seed), transactions=self.transactions
        )
        ((self.place, _, self.state),) = view.states()

    def write(self, *batches: bytearray, to: Sequence[BrokerId] = (1, 2, 3)) -> None:
        """Put batches into the logs of brokers, below their HW."""
        for broker_id in to:
            log = self.world.nodes[broker_id].log(self.place.topic)
            for batch in batches:
                log.append_as_leader(bytes(batch), 0, origin=Origin.COORDINATOR, now_ms=0)
            log.restore_high_watermark(log.end_offset)

    def append(self, broker_id: BrokerId) -> None:
        """Put one record into the log of one broker, below its HW."""
        log = self.world.nodes[broker_id].log("t")
        builder = BatchBuilder(leader_epoch=0)
        builder.append(0, None, b"value")
        log.append_as_leader(bytes(builder.build()), 0, now_ms=0)
        log.restore_high_watermark(log.end_offset)

    def write_state(
        self,
        isr: tuple[BrokerId, ...],
        leader: BrokerId,
        leader_epoch: int = 0,
        controller_epoch: int = 1,
        elr: tuple[BrokerId, ...] = (),
    ) -> None:
        """Write the partition's state."""
        image = PartitionImage((1, 2, 3), isr, leader, leader_epoch, elr=elr)
        path = paths.partition_state(*PARTITION)
        self.world.store.connect().submit(SetData(path, codec.encode_state(image, controller_epoch)))
        self.world.store.deliver()
