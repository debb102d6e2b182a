"""An administrator of groups: lists and describes them on any broker, commits for a group without members,
deletes offsets and groups; at the end it looks at what every group has committed.
"""

from __future__ import annotations

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.testing.sim.trial.groups import NO_COMMIT
from odradek.testing.sim.trial.history import Place
from odradek.testing.sim.trial.scripts import Script
from odradek.testing.sim.trial.workloads.group_client import GroupClient
from odradek.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from odradek.wire.messages.delete_groups import DeleteGroupsRequest
from odradek.wire.messages.describe_groups import DescribeGroupsRequest
from odradek.wire.messages.list_groups import ListGroupsRequest
from odradek.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)

PAUSE_MS: Final = 1_600
WATCHING_PAUSE_MS: Final = 250
"""Short, to see commits before they are replicated if a coordinator tells them."""


class GroupAdmin:
    """Works on one group without members, and looks at the others."""

    def __init__(self, base: GroupClient, others: list[GroupClient]) -> None:
        """`others` are the groups with members."""
        self._base = base
        self._load = base.load
        self._others = others

    def run(self) -> Script:
        """Until the trial is nearly over."""
        base, load = self._base, self._load
        while not base.is_over:
            yield load.scripts.pause(load.between(1, PAUSE_MS))
            if not base.places():
                yield from base.client.refresh()
            elif load.chance.below(4) and not load.is_ending:
                yield from self._work()
            else:
                yield from self._look(load.pick([base, *self._others]))
        for group in (base, *self._others):
            yield from self._look(group)

    def watch(self) -> Script:
        """Look at the offsets of all groups, again and again."""
        base, load = self._base, self._load
        while not base.is_over:
            yield load.scripts.pause(load.between(1, WATCHING_PAUSE_MS))
            if not base.places():
                yield from base.client.refresh()
            else:
                yield from self._look(load.pick([base, *self._others]))

    def _look(self, group: GroupClient) -> Script:
        """What has a group committed?"""
        if group.coordinator is None:
            yield from group.find()
        if group.coordinator is not None:
            yield from group.fetch_offsets(self._base.places())

    def _work(self) -> Script:
        base, load = self._base, self._load
        if base.coordinator is None:
            yield from base.find()
            return
        place = load.pick(base.places())
        match load.chance.below(10):
            case 0 | 1 | 2 | 3:
                places = (place, load.pick(base.places()))
                yield from base.commit({place: load.between(0, 1_000) for place in places})
            case 4 | 5:
                yield from self._delete_offset(base, place)
            case 6:
                yield from self._delete_group()
            case 7:
                yield from self._delete_offset(load.pick(self._others), place)
            case _:
                yield from self._ask_anybody()

    def _delete_offset(self, group: GroupClient, place: Place) -> Script:
        load = self._load
        if group.coordinator is None:
            yield from group.find()
            return
        write = load.groups.write(group.group, place, NO_COMMIT, group.name)
        topic = OffsetDeleteRequestTopic(place.topic, [OffsetDeleteRequestPartition(place.partition)])
        request = OffsetDeleteRequest(group.group, [topic])
        response, code, asked = yield from group.ask(request, lambda answer: answer.error_code)
        if response is None or code is not ErrorCode.NONE:
            group.settle(write, code, asked)
            return
        (answered,) = response.topics[0].partitions
        group.settle(write, ErrorCode(answered.error_code), asked)

    def _delete_group(self) -> Script:
        base, load = self._base, self._load
        writes = [load.groups.write(base.group, place, NO_COMMIT, base.name) for place in base.places()]
        request = DeleteGroupsRequest([base.group])
        _, code, asked = yield from base.ask(request, lambda answer: answer.results[0].error_code)
        for write in writes:
            base.settle(write, code, asked)

    def _ask_anybody(self) -> Script:
        base, load = self._base, self._load
        group = load.pick(self._others)
        request = load.pick(
            (
                ListGroupsRequest(),
                DescribeGroupsRequest([group.group]),
                ConsumerGroupDescribeRequest([group.group]),
            )
        )
        load.history.group_requests += 1
        yield base.client.ask(load.pick(load.broker_ids), request)
