"""`cluster describe --wait`: looks at a cluster again and again until nothing is ill, or time is over.

A cluster is well when
    each broker answers that is registered, has replicas, or is named by the bootstrap servers
    there is a controller
    each partition has a leader, all its replicas in sync, and as many as `min.insync.replicas` asks for;
        a replica that a move under way adds (`cluster reassign`, `cluster drain`) need not be in sync yet
    each broker says so: one that is cut off from the others would not know better

A partition with all its replicas in sync is well also where these are just as many as `min.insync.replicas`:
nothing is to be waited for. So is one that is not led by its preferred leader.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from odradek.base.errors import ApiError
from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.base.some_names import some_of
from odradek.base.values import value
from odradek.cli.connecting import ANSWER_MAX_S, answering_within
from odradek.cli.move_plan import numbered
from odradek.cli.progress_lines import ProgressLines
from odradek.client.administering import administering
from odradek.client.bootstrap import parse_bootstrap_servers
from odradek.client.cluster_state import ClusterState, Trouble
from odradek.client.configuration import ClientConfig
from odradek.client.core.admin.cluster_states import adding_replicas, cluster_state
from odradek.client.core.requests import ToAny, ToNode

WAIT_S: Final = 60.0
"""How long is waited unless the command says it: three sessions of a broker."""
LOOK_S: Final = 0.5
NAMED_MAX: Final = 3
"""How many partitions a sentence names."""
WORDS: Final = {
    Trouble.OFFLINE: "offline",
    Trouble.UNDER_MIN_ISR: "under min ISR",
    Trouble.UNDER_REPLICATED: "under-replicated",
}
"""What makes a partition ill, and how that is said of a number of partitions."""


@value
class Look:
    """What was seen of a cluster."""

    state: ClusterState | None
    """None if no broker answered."""
    ills: Sequence[str]
    """What is waited for, in words; empty if all is well."""


def wait_until_well(config: ClientConfig, timeout_s: float) -> Look:
    """Returns when nothing is ill, or soon after the deadline: a last look takes 1 s for a silent broker.

    Raises SettingError for malformed bootstrap servers, ApiError for what does not pass, such as a refused
    password.
    """
    lines = ProgressLines()
    deadline_s = time.monotonic() + timeout_s
    try:
        while True:
            left_s = max(1.0, deadline_s - time.monotonic())
            found = look_at(config, min(ANSWER_MAX_S, left_s))
            left_s = deadline_s - time.monotonic()
            if not found.ills or left_s <= 0:
                return found
            lines.print(f"waiting: {'; '.join(found.ills)}")
            time.sleep(min(LOOK_S, left_s))
    finally:
        lines.end()


def look_at(config: ClientConfig, answer_s: float) -> Look:
    """Ask the first bootstrap server that answers about the cluster, then each broker. Raises as above."""
    brief = answering_within(config, answer_s)
    brief = replace(brief, default_api_timeout_ms=brief.request_timeout_ms)
    try:
        state, adding = _state_and_adding(brief)
    except ApiError as refused:
        return Look(None, [_passing(refused)])
    ills = ills_of(state)
    named: dict[str, BrokerId | None]
    named = {f"{host}:{port}": None for host, port in parse_bootstrap_servers(config.bootstrap_servers)}
    named |= {one.address: one.broker_id for one in state.brokers}
    # All are asked whether they answer. What the others know matters only where all seems to be well.
    is_well = not ills
    for address, broker_id in named.items():
        at = replace(brief, bootstrap_servers=address)
        try:
            if is_well:
                who = address if broker_id is None else f"broker {broker_id}"
                seen = _state(at, broker_id).with_adding(adding)
                ills += [f"{who} says: {one}" for one in ills_of(seen)]
            else:
                with administering(at):
                    pass
        except ApiError as refused:
            words = _passing(refused)
            ills.append(words if broker_id is None else f"broker {broker_id} does not answer: {words}")
    return Look(state, ills)


def ills_of(state: ClusterState) -> list[str]:
    """What is ill by what one broker knows, in words, the brokers first."""
    known = {one.broker_id for one in state.brokers}
    absent = sorted({*chain.from_iterable(one.replicas for one in state.partitions)} - known)
    found = [f"broker {one} is not in the cluster" for one in absent]
    if state.controller_id == NO_BROKER:
        found.append("the cluster has no controller")
    for trouble, words in WORDS.items():
        ill = [str(one.topic_partition) for one in state.partitions if trouble in one.troubles]
        if ill:
            found.append(f"{numbered(len(ill), 'partition')} {words}: {some_of(ill, NAMED_MAX)}")
    return found


def _state_and_adding(
    config: ClientConfig,
) -> tuple[ClusterState, Mapping[TopicPartition, Sequence[BrokerId]]]:
    """The cluster, as the first bootstrap server that answers knows it, and what moves add to it."""
    with administering(config) as admin:
        state = admin.carry_out(cluster_state())
        adding = admin.carry_out(adding_replicas(state))
    return state.with_adding(adding), adding


def _state(config: ClientConfig, broker_id: BrokerId | None) -> ClusterState:
    """The cluster, as the broker at this address knows it, which has this id if that is known."""
    with administering(config) as admin:
        return admin.carry_out(cluster_state(ToAny() if broker_id is None else ToNode(broker_id)))


def _passing(refused: ApiError) -> str:
    """What is wrong, in words. Raises an error that waiting does not end."""
    if not refused.code.is_retriable:
        raise refused
    return str(refused)
