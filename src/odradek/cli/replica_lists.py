"""The brokers of each partition of a new topic, as on the command line: 1:2:3,2:3:1 for two partitions."""

from collections import Counter

from odradek.base.ids import BrokerId
from odradek.cli.command_line import UsageError, number

EXAMPLE = "1:2:3,2:3:1"
_OPTION = "--replica-assignment"
_broker_id = number(0, (1 << 31) - 1)


def read_replica_lists(text: str) -> dict[int, list[BrokerId]]:
    """The brokers of partitions 0, 1, ...; the first of each is preferred as its leader.

    Raises UsageError for a text of another form, for a broker that is named twice for a partition, and where
    partitions would have different numbers of replicas, which Kafka refuses as well.
    """
    lists = {partition: _read(words, text) for partition, words in enumerate(text.split(","))}
    for partition, brokers in lists.items():
        twice = [one for one, times in Counter(brokers).items() if times > 1]
        if twice:
            raise UsageError(f"{_OPTION} has broker {twice[0]} twice for partition {partition}")
        if len(brokers) != len(lists[0]):
            raise UsageError(
                f"{_OPTION} has {len(lists[0])} replicas for partition 0, and {len(brokers)} for partition"
                f" {partition}: all partitions of a topic have as many"
            )
    return lists


def _read(words: str, text: str) -> list[BrokerId]:
    try:
        return [_broker_id(word.strip()) for word in words.split(":")]
    except ValueError:
        raise UsageError(
            f"{_OPTION} is a list of brokers for each partition, as {EXAMPLE}, not '{text}'"
        ) from None
