"""The target assignment: computed whenever the group's epoch is above the target's."""

from collections import Counter
from collections.abc import Mapping, Sequence

from odradek.base.execution import COUNTED_PER_STEP, Pace, Steps
from odradek.base.ids import TopicId
from odradek.coordinator.assignors import ASSIGNORS
from odradek.coordinator.assignors.model import Subscriber
from odradek.coordinator.consumer.changes import TargetChanged, TargetEpochChanged
from odradek.coordinator.consumer.consumer_membership import ConsumerMembership
from odradek.coordinator.consumer.draft import Draft
from odradek.coordinator.consumer.topics import Topics


def preferred_assignor(group: ConsumerMembership, enabled: Sequence[str]) -> str:
    """The assignor that most members ask for; the first enabled one where none do."""
    wanted = Counter(
        member.metadata.assignor for member in group.members.values() if member.metadata.assignor in enabled
    )
    # Between equals the one that stands first in the setting.
    return max(enabled, key=lambda name: (wanted[name], -enabled.index(name)))


def assign(draft: Draft, topics: Topics, enabled: Sequence[str]) -> Steps[None]:
    """Compute the target as of the group's epoch; members whose target stays the same are not written."""
    group = draft.group
    if group.target_epoch >= group.epoch:
        return
    subscribers, partition_counts = yield from _subscribers(draft, topics)
    assignor = ASSIGNORS[preferred_assignor(group, enabled)]
    assigned = yield from assignor(subscribers, partition_counts, draft.pace)
    changed = [
        TargetChanged(member_id, assigned.get(member_id, {}))
        for member_id in group.members
        if assigned.get(member_id, {}) != group.target.get(member_id)
    ]
    draft.put_all(changed)
    draft.put(TargetEpochChanged(group.epoch))


def _subscribers(draft: Draft, topics: Topics) -> Steps[tuple[list[Subscriber], Mapping[TopicId, int]]]:
    """The members as assignors see them, and the topics that there are."""
    group = draft.group
    counts: dict[TopicId, int] = {}
    ids: dict[str, TopicId] = {}
    for name in group.topics_read():
        topic = topics.by_name(name)
        if topic is not None:
            ids[name] = topic.topic_id
            counts[topic.topic_id] = topic.partition_count
        if draft.pace.is_over(1):
            yield
    # Members with the same subscription share one set.
    known: dict[tuple[tuple[str, ...], str], frozenset[TopicId]] = {}
    subscribers = []
    for member_id, member in group.members.items():
        metadata = member.metadata
        key = metadata.topics, metadata.expression
        if key not in known:
            found: set[TopicId] = set()
            pace = Pace(COUNTED_PER_STEP)
            for name in group.topics_of(metadata):
                if name in ids:
                    found.add(ids[name])
                if pace.is_over():
                    yield
            known[key] = frozenset(found)
            if draft.pace.is_over(len(found)):
                yield
        subscribers.append(
            Subscriber(member_id, metadata.instance_id, known[key], group.target_of(member_id))
        )
    return subscribers, counts
