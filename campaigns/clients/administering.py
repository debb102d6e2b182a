"""An administrator: makes, changes, describes and deletes topics, and looks at groups and offsets."""

import asyncio
from typing import Final

from campaigns.clients.application import API_MS, SOURCE, Setting
from campaigns.clients.copying import GROUP
from odradek.aio import Admin, TopicPartition
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.offset_timestamps import EARLIEST

PASSING: Final = frozenset(
    {
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.INVALID_REPLICATION_FACTOR,  # too few brokers are there to make a topic
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.GROUP_ID_NOT_FOUND,  # before the first member
    }
)
"""What mishaps may end a call with, once its time is over."""
PASSING_LOOK: Final = PASSING | {ErrorCode.UNKNOWN_SERVER_ERROR}
"""Mishaps refuse Metadata with that, and it says that no retry helps."""
EVERY_S: Final = 0.7


class Topics:
    """What the administrator knows of its topics; what a failed call did to one is not known."""

    def __init__(self) -> None:
        self.partitions: dict[str, set[int]] = {}
        """By topic that there must be: the numbers of partitions that it may have."""
        self.deleted: set[str] = set()
        """Topics that there must not be."""
        self.made = 0
        """How many were named so far."""


async def administer(setting: Setting, topics: Topics) -> None:
    """Work until the run ends."""
    settings = {**setting.common, "default.api.timeout.ms": API_MS}
    async with Admin(settings=settings) as admin:
        while setting.is_running:
            call = setting.chance.choice((_create, _create, _grow, _delete, _look, _look))
            try:
                async with setting.within(API_MS / 1000, "admin", admin):
                    await call(setting, admin, topics)
            except ApiError as error:
                setting.refused("admin", error, PASSING_LOOK if call is _look else PASSING)
            else:
                setting.ledger.counts["admin's calls"] += 1
            await asyncio.sleep(setting.chance.expovariate(1 / EVERY_S))


async def check_topics(setting: Setting, topics: Topics) -> None:
    """Compare what the administrator was told with what there is, when all brokers are there again."""
    async with Admin(settings=setting.common) as admin:
        there = {one.name: len(one.partitions) for one in await admin.describe_topics()}
    for name, counts in topics.partitions.items():
        if there.get(name) not in counts:
            had = " or ".join(map(str, sorted(counts)))
            setting.ledger.broken(f"topic {name} has {there.get(name)} partitions; the admin was told {had}")
    for name in sorted(topics.deleted & there.keys()):
        setting.ledger.broken(f"topic {name} is there; the admin was told that it is deleted")


async def _create(setting: Setting, admin: Admin, topics: Topics) -> None:
    topics.made += 1
    name = f"made-{topics.made}"
    try:
        await admin.create_topic(name, partitions=2)
    except ApiError as error:
        if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise
        # The first attempt made it, and its answer was lost.
        setting.ledger.counts["topics made without an answer"] += 1
    topics.partitions[name] = {2}


async def _grow(setting: Setting, admin: Admin, topics: Topics) -> None:
    if not topics.partitions:
        return
    name = setting.chance.choice(sorted(topics.partitions))
    total = max(topics.partitions[name]) + 1
    topics.partitions[name].add(total)
    try:
        await admin.create_partitions({name: total})
    except ApiError as error:
        if error.code is not ErrorCode.INVALID_PARTITIONS:
            raise
        # As above: it has as many already.
        setting.ledger.counts["partitions made without an answer"] += 1
    topics.partitions[name] = {total}


async def _delete(setting: Setting, admin: Admin, topics: Topics) -> None:
    if not topics.partitions:
        return
    name = setting.chance.choice(sorted(topics.partitions))
    del topics.partitions[name]
    try:
        await admin.delete_topics([name])
    except ApiError as error:
        if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        setting.ledger.counts["topics deleted without an answer"] += 1
    topics.deleted.add(name)


async def _look(setting: Setting, admin: Admin, topics: Topics) -> None:
    match setting.chance.randrange(4):
        case 0:
            found = await admin.list_offsets({TopicPartition(SOURCE, 0): EARLIEST})
            if found != {TopicPartition(SOURCE, 0): 0}:
                setting.ledger.broken(f"the first offset of {SOURCE}-0 is {found}")
        case 1:
            await admin.list_group_offsets(GROUP)
        case 2:
            await admin.describe_group(GROUP)
        case _:
            described = await admin.describe_topics([SOURCE])
            if [one.name for one in described] != [SOURCE]:
                setting.ledger.broken(f"asked for {SOURCE}, the admin was told of {described}")
