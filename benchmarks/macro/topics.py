"""Topics for the length of one measurement."""

import contextlib
import itertools
from collections.abc import Iterator

from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.peer import BrokerProcess

REQUEST_TIMEOUT_S = 30.0

_numbers = itertools.count()


@contextlib.contextmanager
def fresh_topic(broker: BrokerProcess) -> Iterator[str]:
    """The name of a new topic with one partition, deleted afterwards so that disks do not fill up."""
    client = AdminClient({"bootstrap.servers": broker.bootstrap})
    name = f"bench-{next(_numbers)}"
    client.create_topics([NewTopic(name, 1, 1)])[name].result(REQUEST_TIMEOUT_S)
    try:
        yield name
    finally:
        client.delete_topics([name])[name].result(REQUEST_TIMEOUT_S)
