"""One controller at a time decides, and brokers obey the newest one only.

Each change of a partition's state in the store is seen by itself (`Checker.on_store`). A change of the leader
epoch is a controller's; any other is the leader's own (R2).
"""

from __future__ import annotations

from typing import Final

from odradek.base.ids import NO_BROKER, NO_EPOCH, LeaderEpoch, TopicPartition
from odradek.metadata import codec, paths
from odradek.metadata.codec import StateDocument
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.trial.checkers.checker import Checker, Scene, brokers_text
from odradek.testing.sim.trial.history import Place

LOOK_EVERY: Final = 5
"""Images of brokers are compared in one look of so many."""
IDLE_MS_MAX: Final = 5_000
"""How long a controller may take to begin."""


class OneControllerDecides(Checker):
    """R1, R2, R5a, R15e: epochs rise, each has one holder, and elections are clean."""

    NAME = "one controller decides"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        # By controller epoch, the life that decided in it.
        self._controllers: dict[int, SimNode] = {}
        self._states: dict[Place, StateDocument] = {}
        # The life that the store names as controller and that does not decide, and since when.
        self._idle: tuple[SimNode, int] | None = None

    def look(self) -> None:
        """See `Checker.look`."""
        self._look_at_named()
        for node in self.scene.view.living():
            if not node.has_opened:
                continue
            controlled = node.core.controller.controlled
            if controlled is None:
                continue
            epoch = controlled.controller_epoch
            first = self._controllers.setdefault(epoch, node)
            if first is not node:
                self.violated(
                    ("epoch", epoch),
                    f"brokers {first.broker_id} and {node.broker_id} were both controllers of epoch {epoch}",
                )

    def _look_at_named(self) -> None:
        """R1: whoever has taken the place of the controller decides soon."""
        view, now_ms = self.scene.view, self.scene.now_ms
        node = view.world.nodes.get(view.controller())
        if node is None or not self._may_decide(node) or node.core.controller.is_active:
            self._idle = None
        elif self._idle is None or self._idle[0] is not node:
            self._idle = node, now_ms
        elif now_ms - self._idle[1] > IDLE_MS_MAX:
            self.violated(
                ("idle", node.broker_id),
                f"the store names broker {node.broker_id} as controller, and it does not know that",
            )

    def _may_decide(self, node: SimNode) -> bool:
        """Whether the broker runs, and the store and it reach each other in a session that is alive."""
        sessions = self.scene.view.world.open_sessions()
        is_serving = node.is_running and node.is_serving
        return is_serving and not node.session.is_cut and node.session.session_id in sessions

    def on_store(self) -> None:
        """See `Checker.on_store`."""
        view = self.scene.view
        states: dict[Place, StateDocument] = {}
        for place, replicas, state in view.states():
            states[place] = state
            before = self._states.get(place)
            if before is not None and before is not state:
                self._compare(place, before, state)
            if before is not state:
                self._check_members(place, replicas, state)
        self._states = states

    def _compare(self, place: Place, before: StateDocument, after: StateDocument) -> None:
        if after.leader_epoch < before.leader_epoch:
            self.violated(
                (place, "epoch"),
                f"the leader epoch of {place} fell from {before.leader_epoch} to {after.leader_epoch}",
            )
        if after.leader_epoch == before.leader_epoch:
            if after.leader != before.leader:
                self.violated(
                    (place, "leader"),
                    f"the leader of {place} went from broker {before.leader} to {after.leader} within epoch"
                    f" {after.leader_epoch}",
                )
            return
        newest = self._newest_controller_epoch()
        if after.controller_epoch != newest:
            self.violated(
                (place, "controller"),
                f"a controller of epoch {after.controller_epoch} began epoch {after.leader_epoch} of {place},"
                f" when the controller epoch was {newest}",
            )
        self._check_election(place, before, after)

    def _check_election(self, place: Place, before: StateDocument, after: StateDocument) -> None:
        if after.leader in (NO_BROKER, before.leader) or after.leader in (*before.isr, *before.elr):
            return
        is_last_known = not before.isr and not before.elr and after.leader == before.last_known_leader
        if not is_last_known:
            self.violated(
                (place, "unclean"),
                f"broker {after.leader} was elected to lead {place} in epoch {after.leader_epoch}, although"
                f" the ISR was {brokers_text(before.isr)} and the ELR {brokers_text(before.elr)}",
            )

    def _check_members(self, place: Place, replicas: tuple[int, ...], state: StateDocument) -> None:
        if state.leader != NO_BROKER and state.leader not in state.isr:
            self.violated((place, "ISR"), f"the leader of {place}, broker {state.leader}, is not in the ISR")
        if len({*state.isr, *state.elr} & {*replicas}) < len(state.isr) + len(state.elr):
            self.violated(
                (place, "ISR"),
                f"{place} has the replicas {brokers_text(replicas)}, the ISR {brokers_text(state.isr)} and"
                f" the ELR {brokers_text(state.elr)}",
            )

    def _newest_controller_epoch(self) -> int:
        node = self.scene.view.world.store.table.get(paths.CONTROLLER_EPOCH)
        assert node is not None, "there was a controller"
        return codec.decode_controller_epoch(node.data)


class OrdersAreInOrder(Checker):
    """R4, R5a, R16, R18: no life of a broker goes back to an older epoch, and each knows before it leads.

    A broker leads with the settings of the topic in force, and has been told first who lives.
    """

    NAME = "brokers obey orders in their order"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._looks = 0
        # The highest controller epoch that each life has obeyed.
        self._obeyed: dict[SimNode, int] = {}
        self._leader_epochs: dict[SimNode, dict[Place, LeaderEpoch]] = {}

    def look(self) -> None:
        """See `Checker.look`."""
        self._looks += 1
        for node in self.scene.view.living():
            if not node.has_opened:
                continue
            self._look_at_roles(node)
            if self._looks % LOOK_EVERY == 0:
                self._look_at_image(node)

    def _look_at_roles(self, node: SimNode) -> None:
        core, broker_id = node.core, node.broker_id
        obeyed, before = core.replicas.controller_epoch, self._obeyed.get(node, 0)
        if obeyed < before:
            self.violated(
                (broker_id, "controller"),
                f"broker {broker_id} obeyed the controller of epoch {obeyed} after that of epoch {before}",
            )
        self._obeyed[node] = obeyed
        is_told = core.received_orders.acknowledged_epoch != NO_EPOCH
        for partition in core.replicas.partitions():
            topic, number = partition.topic_partition
            if not is_told:
                self.violated(
                    (broker_id, "roles"),
                    f"broker {broker_id} has a role for {topic}-{number} before it was told who lives",
                )
                return
            if partition.leadership is None:
                continue
            wanted, in_force = self.scene.min_isr(topic), partition.log.config.min_insync_replicas
            if in_force != wanted:
                self.violated(
                    (partition.topic_partition, "settings"),
                    f"broker {broker_id} leads {topic}-{number} with min.insync.replicas {in_force}, not"
                    f" {wanted}",
                )

    def _look_at_image(self, node: SimNode) -> None:
        known = self._leader_epochs.get(node, {})
        found: dict[Place, LeaderEpoch] = {}
        for topic in node.core.image.live_topics():
            for number, state in topic.partitions.items():
                place = Place(topic.name, topic.topic_id, number)
                epoch = found[place] = state.leader_epoch
                if epoch < known.get(place, NO_EPOCH):
                    self.violated(
                        (place, node.broker_id),
                        f"broker {node.broker_id} takes {epoch} for the leader epoch of {place} after"
                        f" {known[place]}",
                    )
        for partition in node.core.replicas.partitions():
            self._compare_with_store(node, partition.topic_partition, partition.leader_epoch)
        self._leader_epochs[node] = found

    def _compare_with_store(self, node: SimNode, named: TopicPartition, epoch: LeaderEpoch) -> None:
        state = self.scene.view.state(named)
        document = self.scene.view.all_topics().get(named.topic)
        partition = node.core.replicas.partition(named)
        if state is None or document is None or partition is None:
            return
        if document.topic_id == partition.topic_id and epoch > state.leader_epoch:
            self.violated(
                (named, node.broker_id),
                f"broker {node.broker_id} is in epoch {epoch} of {named.topic}-{named.partition}, and the"
                f" store has {state.leader_epoch}",
            )
