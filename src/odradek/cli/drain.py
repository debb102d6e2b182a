"""`odradek cluster drain`: moves all replicas off a broker, so that it can be stopped for good."""

from collections.abc import Iterable
from typing import Final

from odradek.base.errors import OdradekError
from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.cli.command_line import JSON, Command, Options, number, positional
from odradek.cli.connecting import CONNECTION, client_config
from odradek.cli.move_plan import brokers_are, numbered, plan_for
from odradek.cli.moving import EXECUTE, NO_WAIT, SAVE, THROTTLE, check_execution, show_or_carry_out
from odradek.cli.output import say
from odradek.cli.patient_admin import patient_admin
from odradek.client.administering import Admin
from odradek.client.cluster_state import ClusterState
from odradek.client.core.admin.cluster_states import cluster_state
from odradek.client.core.admin.configs import configs_of_brokers_there
from odradek.client.core.admin.reassignments import list_partition_reassignments
from odradek.client.replica_placement import Replicas, drained

_SUPERVISED: Final = "odradek.cluster.directory"
"""The setting that the supervisor of `serve --brokers` gives to its brokers."""


def drain(options: Options) -> None:
    """Show or carry out what moves off the broker."""
    check_execution(options)
    with patient_admin(client_config(options)) as admin:
        state = admin.carry_out(cluster_state())
        moving = admin.carry_out(list_partition_reassignments())
        present = {one.topic_partition: tuple(one.replicas) for one in state.partitions}
        present |= {named: one.target for named, one in moving.items()}
        broker: BrokerId = options.broker
        held = {named: replicas for named, replicas in present.items() if broker in replicas}
        leaving = [named for named, one in moving.items() if broker in one.removing]
        is_known = any(one.broker_id == broker for one in state.brokers)
        if not is_known and not held and not leaving:
            raise OdradekError(f"there is no broker {broker}: {brokers_are(state)}")
        kept = _kept(broker, state, held)
        racks = {one.broker_id: one.rack for one in state.brokers if one.broker_id != broker}
        movable = {named: replicas for named, replicas in held.items() if named not in kept}
        others = {named: replicas for named, replicas in present.items() if named not in movable}
        targets = drained(movable, racks, broker, others) | {named: present[named] for named in leaving}
        plan = plan_for(admin, state, moving, targets, kept)
        if plan.moves or plan.running or kept:
            show_or_carry_out(options, admin, plan)
        elif not options.json:
            say(f"Broker {broker} has no replicas.")
            return
        if kept:
            raise OdradekError(f"broker {broker} keeps {numbered(len(kept), 'replica')}")
        if options.execute and not options.no_wait and not options.json:
            say(f"Broker {broker} has no replicas. {_next_step(admin, racks)}")


def _next_step(admin: Admin, others: Iterable[BrokerId]) -> str:
    """What is to be done with a broker that has no replicas."""
    if _is_supervised(admin, others):
        return "Leave it running, and new topics may get some: serve --brokers takes no fewer brokers yet."
    return "New topics may get some until it is stopped."


def _is_supervised(admin: Admin, others: Iterable[BrokerId]) -> bool:
    """Whether `serve --brokers` runs these brokers; False if they do not say it."""
    told = admin.carry_out(configs_of_brokers_there(others))
    return any(entry.name == _SUPERVISED and entry.value for entries in told.values() for entry in entries)


def _kept(
    broker: BrokerId, state: ClusterState, held: dict[TopicPartition, Replicas]
) -> dict[TopicPartition, str]:
    """The partitions that cannot leave the broker, and why."""
    leaders = {one.topic_partition: one.leader for one in state.partitions}
    others = {one.broker_id for one in state.brokers} - {broker}
    found = {}
    for named, replicas in held.items():
        if not others - set(replicas):
            left = len(replicas) - 1
            words = (
                f"is only {left} broker"
                if left == 1
                else f"are only {left} brokers"
                if left
                else "is no other"
            )
            found[named] = (
                f"it has {numbered(len(replicas), 'replica')}, and without broker {broker} there {words}"
            )
        elif leaders[named] == NO_BROKER:
            found[named] = "it has no leader, so nothing can be copied"
    return found


COMMAND = Command(
    "drain",
    "Move all replicas off a broker, so that it can be stopped for good.",
    drain,
    (
        positional("broker", "the broker's id", kind=number(0, (1 << 31) - 1)),
        EXECUTE,
        THROTTLE,
        NO_WAIT,
        SAVE,
        JSON,
        *CONNECTION,
    ),
    details="Each replica goes to the broker that has the fewest of its topic, in a rack without a replica of"
    " the partition if there is one; other replicas stay where they are. The broker may be down. It fails if"
    " replicas must stay, after it has moved the others, and says why. 'odradek cluster reassign --verify'"
    " and '--cancel' are for these moves, too. A cluster of serve --brokers cannot run with fewer brokers"
    " yet: a broker that is drained there stays.",
    examples=(
        "odradek cluster drain 3",
        "odradek cluster drain 3 --execute --throttle 50,000,000",
    ),
)
