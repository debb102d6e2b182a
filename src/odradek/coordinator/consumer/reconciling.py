"""From a member's partitions to its target assignment, so that no partition ever has two owners.

Nothing here changes the group: a member's next share follows from its share, the target, the partitions that
it reports as owned, and those of the other members.

Worked example, t-0 to t-3, a alone at epoch 1, then b joins and the target of epoch 2 gives it t-2 and t-3:

    b joins            its target is a's still: UNRELEASED_PARTITIONS at 2, with nothing
    a's heartbeat      UNREVOKED_PARTITIONS at 1, keeps t-0 t-1, has to revoke t-2 t-3
    a owns t-0 t-1     STABLE at 2
    b's heartbeat      STABLE at 2, with t-2 t-3
"""

from odradek.base.execution import Steps
from odradek.base.ids import TopicId
from odradek.coordinator.assignors.model import Assignment
from odradek.coordinator.consumer.assignments import NOTHING, in_both, overlap, together, without
from odradek.coordinator.consumer.consumer_membership import ConsumerMembership
from odradek.coordinator.consumer.draft import Draft
from odradek.coordinator.consumer.member import JOINING_EPOCH, Member, Share
from odradek.coordinator.consumer.states import MemberEvent, MemberState, next_state


def reconciled(draft: Draft, member: Member, owned: Assignment | None) -> Steps[Share]:
    """Returns the member's next share, which may be the current one.

    `owned` are the partitions that it reports as owned; None if it reported none: then it may own all.
    """
    group = draft.group
    share = member.share
    if share.state is MemberState.STABLE and share.epoch == group.target_epoch:
        next_state(share.state, MemberEvent.NOTHING_NEW)
        return share
    if share.state is MemberState.UNREVOKED_PARTITIONS and _still_owns(owned, share.revoking):
        next_state(share.state, MemberEvent.STILL_OWNS)
        return share
    target = group.target_of(member.member_id)
    if draft.pace.is_over(len(share.assigned)):
        yield
    kept = in_both(share.assigned, target)
    if draft.pace.is_over(len(share.assigned)):
        yield
    leaving = without(share.assigned, target)
    if leaving and _still_owns(owned, leaving):
        state = next_state(share.state, MemberEvent.MUST_REVOKE)
        return _moved(share, share.epoch, state, kept, leaving)
    if draft.pace.is_over(len(target)):
        yield
    wanted = without(target, kept)
    if draft.pace.is_over(len(wanted)):
        yield
    free = _free(group, member.member_id, wanted)
    if draft.pace.is_over(len(free)):
        yield
    if draft.pace.is_over(len(share.assigned)):
        yield
    event = MemberEvent.HAS_ALL if free == wanted else MemberEvent.MUST_WAIT
    state = next_state(share.state, event)
    return _moved(share, group.target_epoch, state, together(kept, free), NOTHING)


def waits_on_others(group: ConsumerMembership, member: Member) -> bool:
    """Whether other members still own partitions that a member lacks of its target."""
    wanted = without(group.target_of(member.member_id), member.share.assigned)
    return _free(group, member.member_id, wanted) != wanted


def _still_owns(owned: Assignment | None, partitions: Assignment) -> bool:
    return owned is None or overlap(owned, partitions)


def _free(group: ConsumerMembership, member_id: str, wanted: Assignment) -> Assignment:
    """The part of `wanted` that has no other owner."""
    free: dict[TopicId, frozenset[int]] = {}
    for topic, parts in wanted.items():
        owners = group.owners.get(topic, {})
        unowned = frozenset(part for part in parts if owners.get(part, member_id) == member_id)
        if unowned:
            free[topic] = unowned
    return free


def _moved(share: Share, epoch: int, state: MemberState, assigned: Assignment, revoking: Assignment) -> Share:
    """The next share; the previous epoch is kept while the epoch does not change."""
    previous = share.previous_epoch if epoch == share.epoch else share.epoch
    return Share(epoch, previous, state, assigned, revoking, _earlier(share, epoch, assigned))


def _earlier(share: Share, epoch: int, assigned: Assignment) -> tuple[tuple[int, Assignment], ...]:
    """See `Share.earlier`, of the share that follows this one."""
    parts_since = list(share.earlier)
    if epoch != share.epoch and share.epoch > JOINING_EPOCH:
        latest = share.assigned
        for _, parts in share.earlier:
            latest = without(latest, parts)
        parts_since.append((share.epoch, latest))
    kept = ((since, in_both(parts, assigned)) for since, parts in parts_since)
    return tuple((since, parts) for since, parts in kept if parts)
