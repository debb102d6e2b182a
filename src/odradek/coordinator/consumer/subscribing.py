"""What a group reads: names and expressions of its members, and the topics behind them.

A change of either raises the group's epoch, and so requires another target assignment:

    a member subscribes to more, or to less       at once
    a topic is created, deleted, or grows         with the next heartbeat of any member
    a topic is created that an expression matches with the next heartbeat of any member
"""

import hashlib
from itertools import groupby

from odradek.base.errors import ApiError
from odradek.base.execution import Steps, ordered
from odradek.coordinator.consumer.changes import EpochChanged, ExpressionChanged, ResolvedExpression
from odradek.coordinator.consumer.draft import Draft
from odradek.coordinator.consumer.surroundings import GroupSurroundings
from odradek.coordinator.consumer.topics import Topics

HASH_BYTES = 8


def topics_hash(draft: Draft, topics: Topics) -> Steps[int]:
    """A hash of the topics that a group reads: names, ids and numbers of partitions.

    Equal topics give the same hash, over restarts too. 0 when there are no topics.
    """
    digest = hashlib.blake2b(digest_size=HASH_BYTES)
    found = False
    for name, _ in groupby((yield from ordered(draft.group.topics_read()))):
        topic = topics.by_name(name)
        if topic is not None:
            found = True
            digest.update(f"{name}/{topic.partition_count}/".encode())
            digest.update(topic.topic_id.bytes)
        if draft.pace.is_over(1):
            yield
    return int.from_bytes(digest.digest(), "big", signed=True) if found else 0


def resolve(draft: Draft, expression: str, surroundings: GroupSurroundings) -> None:
    """Look up an expression's topics, unless that was done. Raises ApiError for an invalid expression."""
    if expression and expression not in draft.group.expressions:
        draft.put(ExpressionChanged(expression, _resolved(expression, surroundings)))


def drop_unused_expressions(draft: Draft) -> None:
    """Forget the expressions that no member subscribes with any more."""
    if draft.group.expressions:
        used = {member.metadata.expression for member in draft.group.members.values()}
        unused = [expression for expression in draft.group.expressions if expression not in used]
        draft.put_all(ExpressionChanged(expression, None) for expression in unused)


def refresh(draft: Draft, surroundings: GroupSurroundings) -> None:
    """Called when topics were created or deleted: look up every expression, and record changed matches."""
    used = dict.fromkeys(member.metadata.expression for member in draft.group.members.values())
    for expression in filter(None, used):
        known = draft.group.expressions.get(expression)
        try:
            resolved = _resolved(expression, surroundings)
        except ApiError:
            continue  # Kafka accepted it; its matches are in the log
        if known is None or resolved.topics != known.topics:
            draft.put(ExpressionChanged(expression, resolved))


def raise_epoch(draft: Draft, topics: Topics, *, is_changed: bool) -> Steps[None]:
    """Raise the group's epoch if its members changed, or the topics that they read."""
    group = draft.group
    current = yield from topics_hash(draft, topics)
    if is_changed or current != group.topics_hash:
        draft.put(EpochChanged(group.epoch + 1, current))


def _resolved(expression: str, surroundings: GroupSurroundings) -> ResolvedExpression:
    matched = surroundings.expressions.matching(expression)
    return ResolvedExpression(matched, surroundings.topics.version, surroundings.terms.clock.wall_ms())
