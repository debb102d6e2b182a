"""The groups of a trial, and the clients that use them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from odradek.testing.sim.trial.cluster_client import ClusterClient
from odradek.testing.sim.trial.load import Load
from odradek.testing.sim.trial.scripts import Script
from odradek.testing.sim.trial.workloads.classic_member import ClassicMember
from odradek.testing.sim.trial.workloads.consumer_member import ConsumerMember
from odradek.testing.sim.trial.workloads.group_admin import GroupAdmin
from odradek.testing.sim.trial.workloads.group_client import GroupClient

CLASSIC: Final = "readers"
CONSUMER: Final = "watchers"
SCRATCH: Final = "visitors"
"""A group that never has members."""
MEMBERS: Final = 3
"""Of each group; the last one is static."""
TIMEOUTS_MS: Final = (4_000, 15_000, 1_000_000)
"""How long a member waits for an answer; the last one is longer than any trial lasts."""


def group_scripts(load: Load) -> Iterator[Script]:
    """The scripts of all clients of groups, whose hosts are the load's from now on."""
    load.groups.meant.update({CLASSIC: MEMBERS, CONSUMER: MEMBERS})
    for number in range(1, MEMBERS + 1):
        instance_id = "static" if number == MEMBERS else None
        yield ClassicMember(_client(load, f"reader-{number}", CLASSIC), instance_id).run()
        yield ConsumerMember(_client(load, f"watcher-{number}", CONSUMER), instance_id).run()
    yield _admin(load, "visitor").run()
    yield _admin(load, "onlooker").watch()


def _admin(load: Load, name: str) -> GroupAdmin:
    base = _client(load, name, SCRATCH)
    return GroupAdmin(base, [GroupClient(load, base.client, group) for group in (CLASSIC, CONSUMER)])


def _client(load: Load, name: str, group: str) -> GroupClient:
    client = ClusterClient(load, name, load.pick(TIMEOUTS_MS), heeds_epochs=True)
    load.hosts.append(client.host)
    return GroupClient(load, client, group)
