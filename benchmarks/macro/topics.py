"""Topics for the length of one measurement."""

import contextlib
import itertools
from collections.abc import Iterator, Mapping

from confluent_kafka.admin import AdminClient, NewTopic
from peers import BrokerProcess

REQUEST_TIMEOUT_S = 30.0

_numbers = itertools.count()


@contextlib.contextmanager
def fresh_topic(
    broker: BrokerProcess, *, partitions: int = 1, configs: Mapping[str, str] | None = None
) -> Iterator[str]:
    """The name of a new topic, deleted afterwards so that disks do not fill up."""
    # Brokers are stopped and started meanwhile: the client's messages about that do not help.
    client = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    name = f"bench-{next(_numbers)}"
    client.create_topics([NewTopic(name, partitions, 1, config=dict(configs or {}))])[name].result(
        REQUEST_TIMEOUT_S
    )
    try:
        yield name
    finally:
        client.delete_topics([name])[name].result(REQUEST_TIMEOUT_S)
