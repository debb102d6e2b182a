"""A client that creates topics, adds partitions, changes settings and deletes what it made."""

from __future__ import annotations

from typing import Final

from odradek.testing.sim.trial.cluster_client import ClusterClient
from odradek.testing.sim.trial.load import Load
from odradek.testing.sim.trial.scripts import Script
from odradek.wire.message import Message, Request
from odradek.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

TOPICS_MAX: Final = 3
"""How many of its topics exist at once, as far as it knows."""
TIMEOUT_MS: Final = 5_000
TOPIC_RESOURCE: Final = 2
SETTINGS: Final = (
    ("segment.ms", ("1500", "20000")),
    ("max.message.bytes", ("100000", "1048588")),
    ("index.interval.bytes", ("100", "4096")),
)
"""Settings that change how logs are written, and nothing of what they hold."""


def creation(name: str, partitions: int, replication: int, **configs: str) -> CreateTopicsRequest:
    """A request for one topic; settings with underscores for dots."""
    topic = CreatableTopic(name, partitions, replication)
    topic.configs = [CreatableTopicConfig(key.replace("_", "."), text) for key, text in configs.items()]
    return CreateTopicsRequest([topic], timeout_ms=TIMEOUT_MS)


class TopicChanges:
    """Asks the controller, as it knows it."""

    def __init__(self, load: Load, client: ClusterClient, pause_ms: int) -> None:
        """`pause_ms` is the longest pause between two changes."""
        self._load = load
        self._client = client
        self._pause_ms = pause_ms
        self._made = 0
        # Topics that it asked for, and their number of partitions; some may not exist.
        self._topics: dict[str, int] = {}

    def run(self) -> Script:
        """Changes topics until the load ends."""
        load, client = self._load, self._client
        while not load.is_ending:
            yield load.scripts.pause(load.between(1, self._pause_ms))
            if client.controller_id not in load.broker_ids or not load.chance.below(4):
                yield from client.refresh()
                continue
            yield client.ask(client.controller_id, self._next())

    def _next(self) -> Request[Message]:
        load = self._load
        if len(self._topics) < TOPICS_MAX:
            self._made += 1
            name, partitions = f"{self._client.name}-{self._made}", load.between(1, 3)
            self._topics[name] = partitions
            return creation(name, partitions, len(load.broker_ids), min_insync_replicas="2")
        name = load.pick(tuple(self._topics))
        change = load.chance.below(4)
        if change == 0:
            del self._topics[name]
            return DeleteTopicsRequest(topics=[DeleteTopicState(name)], timeout_ms=TIMEOUT_MS)
        if change == 1:
            self._topics[name] += 1
            return CreatePartitionsRequest(
                [CreatePartitionsTopic(name, self._topics[name], None)], TIMEOUT_MS
            )
        setting, values = load.pick(SETTINGS)
        config = AlterableConfig(setting, 0, load.pick(values))
        return IncrementalAlterConfigsRequest([AlterConfigsResource(TOPIC_RESOURCE, name, [config])])
