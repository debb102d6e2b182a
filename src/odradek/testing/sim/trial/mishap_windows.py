"""Mishaps that wait for a moment: something is about to be sent, written or decided, and a fault strikes.

    stale fetch                      a follower has caught up, its fetch is on a slow link: its power goes
    power loss after a checkpoint    a checkpoint file has just been written
    orders of a deposed controller   they arrive after the orders of its successor
    change while cut from the store  the watches that would tell of it are lost
    slow orders to one that joins    it has obeyed the first order, and not the second one
    zombie leader                    neither store nor brokers reach it, clients do
    death of the last in sync        the ISR has shrunk to the leader, which dies

What is waited for is looked at every LOOK_EVERY_MS, as long as PATIENCE_MS; then the fault strikes anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from odradek.base.chance import Chance
from odradek.base.ids import BrokerId
from odradek.metadata.codec import StateDocument
from odradek.storage import file_names
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.trial.actions import Actions
from odradek.testing.sim.trial.history import Place
from odradek.testing.sim.trial.mishap_kinds import Kind
from odradek.testing.sim.trial.plan import Mishap

LOOK_EVERY_MS: Final = 5
PATIENCE_MS: Final = 13_000
"""Longer than the longest `replica.lag.time.max.ms` of a plan."""
SLOW_FETCH_MS: Final = 500
SLOW_ORDERS_MS: Final = (150, 400, 1_500)
OPERATIONS_MAX: Final = 12
"""A death after a checkpoint comes after at most so many more operations of the disk."""
CHECKPOINTS: Final = (file_names.RECOVERY_POINTS, file_names.HIGH_WATERMARKS, file_names.LOG_START_OFFSETS)
LOG_DIRECTORY: Final = "/data"


def _wait(actions: Actions, has_come: Callable[[], bool], then: Callable[[], None]) -> None:
    """Do `then` once `has_come`, or after PATIENCE_MS, or when mishaps are over."""
    end_ms = actions.now_ms + PATIENCE_MS

    def look() -> None:
        if actions.is_ending or actions.now_ms >= end_ms or has_come():
            then()
        else:
            actions.schedule.after(LOOK_EVERY_MS, look)

    look()


def _states(
    actions: Actions, leader: BrokerId
) -> Iterator[tuple[Place, tuple[BrokerId, ...], StateDocument]]:
    """The partitions of several replicas that a broker leads, as the store has them."""
    for place, replicas, state in actions.view.states():
        if state.leader == leader and len(replicas) > 1:
            yield place, replicas, state


# --- a fetch of an earlier life


def _stale_fetch(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    """R16: the fetch that says it has caught up arrives when the records that it had are lost."""
    follower, links = node.broker_id, actions.world.links
    leaders = [one for one in actions.others(follower) if any(_states(actions, one))]
    if not leaders:
        return
    leader = leaders[chance.below(len(leaders))]
    lasts_ms = 1 + chance.below(SLOW_FETCH_MS // 4)
    actions.tell(f"nothing passes from broker {follower} to broker {leader}, until the ISR has shrunk")
    links.cut(follower, leader, one_way=True)

    def has_left() -> bool:
        return any(
            follower in replicas and follower not in state.isr
            for _, replicas, state in _states(actions, leader)
        )

    def has_caught_up() -> bool:
        is_over = actions.world.nodes[follower] is not node
        return is_over or (actions.losses.may_lose(follower) and any(_caught_up(actions, leader, follower)))

    def slow_down() -> None:
        links.mend(follower, leader)
        actions.tell(f"what broker {follower} sends to broker {leader} takes {SLOW_FETCH_MS} ms")
        links.slow(follower, leader, SLOW_FETCH_MS)
        actions.slow_disk(node, PATIENCE_MS)  # so it has what it fetches now in memory only
        _wait(actions, has_caught_up, die)

    def die() -> None:
        actions.restore_disk(node)
        if actions.world.nodes[follower] is node:
            if actions.has_session(node):
                # As where the store sees processes end: else the next life would wait for the session's end.
                actions.tell(f"the session of broker {follower} with the store ends")
                node.session.expire()
            actions.lose_power(node, lasts_ms)
        # So the first fetch of its next life comes behind that of this life.
        actions.schedule.after(SLOW_FETCH_MS + lasts_ms, lambda: actions.mend(follower, leader))

    _wait(actions, has_left, slow_down)


def _caught_up(actions: Actions, leader: BrokerId, follower: BrokerId) -> Iterator[bool]:
    """Of each partition in whose ISR it is not: whether its log reaches the leader's HW, in memory only."""
    out = {
        (place.topic, place.partition)
        for place, replicas, state in _states(actions, leader)
        if follower in replicas and follower not in state.isr
    }
    reached = {
        partition.topic_partition: partition.log.high_watermark.offset
        for node, partition in actions.view.hosted()
        if node.broker_id == leader and tuple(partition.topic_partition) in out
    }
    for node, partition in actions.view.hosted():
        if node.broker_id == follower and partition.topic_partition in reached:
            log, high_watermark = partition.log, reached[partition.topic_partition]
            yield log.flushed_offset < high_watermark <= log.end_offset


# --- disks


def _lose_power_after_a_checkpoint(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    """L4: what the file says must be on the disk, too."""
    operations, is_slow = chance.below(OPERATIONS_MAX), bool(chance.below(2))
    before = _checkpoints(node)
    if is_slow:
        actions.slow_disk(node, 50)
    end = partial(actions.lose_power_on_slow_disk, node, mishap.lasts_ms)

    def strike() -> None:
        if is_slow:
            end()
        else:
            node.files.close_after(operations, end)

    _wait(actions, lambda: not node.is_running or _checkpoints(node) != before, strike)


def _checkpoints(node: SimNode) -> list[bytes | None]:
    return [node.disk.content(f"{LOG_DIRECTORY}/{name}") for name in CHECKPOINTS]


# --- controllers


def _orders_of_a_deposed_controller(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    """R5a: `node` dies, and the controller's orders about that are late; meanwhile there is another one."""
    controller = actions.world.nodes.get(actions.view.controller())
    if controller is None or controller is node or not controller.is_running:
        return
    broker_id = controller.broker_id
    delay_ms = SLOW_ORDERS_MS[chance.below(len(SLOW_ORDERS_MS))]
    actions.tell(f"what the controller, broker {broker_id}, sends takes {delay_ms} ms")
    for other in actions.others(broker_id):
        actions.world.links.slow(broker_id, other, delay_ms)
    actions.kill(node, mishap.lasts_ms)
    actions.schedule.after(1 + chance.below(delay_ms), partial(_depose, actions, controller))
    actions.schedule.after(2 * delay_ms, partial(_quicken, actions, broker_id))


def _depose(actions: Actions, controller: SimNode) -> None:
    if actions.has_session(controller):
        actions.tell(f"the session of the controller, broker {controller.broker_id}, with the store expires")
        actions.counts.note("expiries")
        controller.session.expire()


def _quicken(actions: Actions, broker_id: BrokerId) -> None:
    for other in actions.others(broker_id):
        actions.world.links.slow(broker_id, other, 0)
    actions.settle_links()


def _change_while_cut_from_the_store(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    """R1: a broker stops and starts while another broker, whose session stays open, is cut from the store."""
    broker_id, world = node.broker_id, actions.world
    controller = actions.view.controller()
    is_controller = broker_id == controller
    other = actions.another(broker_id, chance) if is_controller or controller < 0 else controller
    cut_ms = 200 + chance.below(min(actions.session_timeout_ms, 3_000) - 400)
    actions.tell(f"broker {broker_id} is cut off from the store for {cut_ms:,} ms; broker {other} dies")
    world.cut_store(broker_id)
    actions.kill(world.nodes[other], 1 + chance.below(2 * cut_ms))
    actions.schedule.after(cut_ms, lambda: world.mend_store(broker_id, reconnects=True))


def _slow_orders_to_one_that_joins(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    """R4: between one order and the next one it serves requests."""
    broker_id = node.broker_id
    delay_ms = SLOW_ORDERS_MS[chance.below(len(SLOW_ORDERS_MS))]
    actions.tell(f"what broker {broker_id} is sent takes {delay_ms} ms")
    for other in actions.others(broker_id):
        actions.world.links.slow(other, broker_id, delay_ms)
    if chance.below(2):
        for other in actions.others(broker_id):
            actions.kill(actions.world.nodes[other], mishap.lasts_ms)
    actions.kill(node, 1 + chance.below(300))

    def quicken() -> None:
        for other in actions.others(broker_id):
            actions.world.links.slow(other, broker_id, 0)
        actions.settle_links()

    actions.schedule.after(mishap.lasts_ms + 8 * delay_ms, quicken)


# --- leaders


def _zombie_leader(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    """R2, R7: it still leads as far as it knows, and may acknowledge nothing that others do not have."""
    broker_id, world = node.broker_id, actions.world
    lasts_ms = actions.session_timeout_ms + 500 + chance.below(3_000)
    actions.tell(f"neither store nor brokers reach broker {broker_id} for {lasts_ms:,} ms; clients do")
    for other in actions.others(broker_id):
        world.cut(broker_id, other)
    world.cut_store(broker_id)
    actions.expire_if_silent(node, lasts_ms)

    def end() -> None:
        for other in actions.others(broker_id):
            actions.mend(broker_id, other)
        world.mend_store(broker_id, reconnects=True)

    actions.schedule.after(lasts_ms, end)


def _death_of_the_last_in_sync(actions: Actions, node: SimNode, mishap: Mishap, chance: Chance) -> None:
    """R15e: nobody else may lead, and what only the leader has was not acknowledged to acks=all."""
    broker_id, world = node.broker_id, actions.world
    loses_power, pause_ms = bool(chance.below(2)), chance.below(1_000)
    actions.tell(f"broker {broker_id} gets nothing from other brokers, until it is the last in sync; it dies")
    for other in actions.others(broker_id):
        world.cut(other, broker_id, one_way=True)

    def is_last() -> bool:
        return any(state.isr == (broker_id,) for _, _, state in _states(actions, broker_id))

    def end() -> None:
        (actions.lose_power if loses_power else actions.kill)(node, mishap.lasts_ms)
        for other in actions.others(broker_id):
            actions.mend(broker_id, other)

    _wait(actions, is_last, lambda: actions.schedule.after(pause_ms, end))


WINDOWS: Final[Mapping[str, Kind]] = {
    "stale fetch": _stale_fetch,
    "power loss after a checkpoint": _lose_power_after_a_checkpoint,
    "orders of a deposed controller": _orders_of_a_deposed_controller,
    "change while cut from the store": _change_while_cut_from_the_store,
    "slow orders to one that joins": _slow_orders_to_one_that_joins,
    "zombie leader": _zombie_leader,
    "death of the last in sync": _death_of_the_last_in_sync,
}
"""These happen to a broker whose process lives and does not stand still; otherwise nothing happens."""
