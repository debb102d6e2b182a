"""What a library takes from the machine past Python's own modules, for `machine` to replace.

aiokafka: its extension in C stamps records with the machine's time, unless it is given one. It chooses a
broker by chance from a set whose order depends on PYTHONHASHSEED, and goes through sets of topics and of
partitions: these are in order here. And it numbers the producers of a process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar
from zlib import crc32

from odradek.base.clock import Clock

T = TypeVar("T")


class FrozenInOrder(frozenset[T]):
    """A frozenset that is gone through in order, whatever the hashes of its elements are."""

    def __iter__(self) -> Iterator[T]:
        return iter(sorted(super().__iter__()))  # type: ignore[type-var]


class InOrder(set[T]):
    """The same for a set."""

    def __iter__(self) -> Iterator[T]:
        return iter(sorted(super().__iter__()))  # type: ignore[type-var]


def in_libraries(clock: Clock) -> list[tuple[Any, str, Any]]:
    """Returns (owner, name, replacement) for the libraries that are installed."""
    if find_spec("aiokafka") is None:
        return []
    builder = import_module("aiokafka.producer.message_accumulator").BatchBuilder
    append = builder.append

    def append_stamped(self: Any, *, timestamp: int | None, **record: Any) -> Any:  # noqa: ANN401 - aiokafka's
        return append(self, timestamp=clock.wall_ms() if timestamp is None else timestamp, **record)

    def hash_of_broker(self: Any) -> int:  # noqa: ANN401 - aiokafka's
        return crc32(str(self.nodeId).encode())

    def order_subscription(self: Any) -> None:  # noqa: ANN401 - aiokafka's
        self._topics = FrozenInOrder(self._topics)

    def order_assignment(self: Any) -> None:  # noqa: ANN401 - aiokafka's
        self._topic_partitions = FrozenInOrder(self._topic_partitions)
        self._tp_state = {one: self._tp_state[one] for one in self._topic_partitions}

    def order_transaction(self: Any) -> None:  # noqa: ANN401 - aiokafka's
        self._pending_txn_partitions = InOrder(self._pending_txn_partitions)

    subscriptions = import_module("aiokafka.consumer.subscription_state")
    manager = import_module("aiokafka.producer.transaction_manager").TransactionManager
    client = import_module("aiokafka.client").AIOKafkaClient
    update = client._metadata_update  # noqa: SLF001 - aiokafka's

    def update_in_order(self: Any, cluster: Any, topics: Any) -> Any:  # noqa: ANN401 - aiokafka's
        return update(self, cluster, sorted(topics or ()))

    described = import_module("aiokafka.structs").BrokerMetadata
    producer = import_module("aiokafka.producer.producer").AIOKafkaProducer
    return [
        (builder, "append", append_stamped),
        (described, "__hash__", hash_of_broker),
        (subscriptions.Subscription, "__init__", _followed(subscriptions.Subscription, order_subscription)),
        (subscriptions.Assignment, "__init__", _followed(subscriptions.Assignment, order_assignment)),
        (manager, "__init__", _followed(manager, order_transaction)),
        (client, "_metadata_update", update_in_order),
        (producer, "_PRODUCER_CLIENT_ID_SEQUENCE", 0),
    ]


def _followed(owner: Any, then: Callable[[Any], None]) -> Callable[..., None]:  # noqa: ANN401 - any class
    """Returns the constructor of a class, followed by a change of the new object."""
    construct = owner.__init__

    def constructed(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - of the class
        construct(self, *args, **kwargs)
        then(self)

    return constructed
