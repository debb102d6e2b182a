"""What a library takes from the machine past Python's own modules, for `machine` to replace.

aiokafka: its extension in C stamps records with the machine's time, unless it is given one. It chooses a
broker by chance from a set whose order depends on PYTHONHASHSEED. And it numbers the producers of a process.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any
from zlib import crc32

from odradek.base.clock import Clock


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

    described = import_module("aiokafka.structs").BrokerMetadata
    producer = import_module("aiokafka.producer.producer").AIOKafkaProducer
    return [
        (builder, "append", append_stamped),
        (described, "__hash__", hash_of_broker),
        (producer, "_PRODUCER_CLIENT_ID_SEQUENCE", 0),
    ]
