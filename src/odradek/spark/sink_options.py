"""The options of writes: their names, what each may be, and a sentence for each that is refused.

Names are those of Spark's Kafka sink, in any case. This module opens no connections.
"""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import uuid4

from odradek.base.errors import SettingError
from odradek.client.core.producer.settings import producer_settings
from odradek.client.protection import PREFIXES
from odradek.client.settings import Client, read_settings
from odradek.spark.brokers import Brokers
from odradek.spark.unknown_options import unknown_option

EXACTLY_ONCE: Final = "exactly-once"
AT_LEAST_ONCE: Final = "at-least-once"
GUARANTEES: Final = (EXACTLY_ONCE, AT_LEAST_ONCE)
SERVED: Final = ("kafka.bootstrap.servers", "topic", "deliveryGuarantee", "stagingLocation")
# What Spark itself hands on of a streaming query.
_OF_THE_QUERY: Final = ("checkpointlocation", "queryname")
_KAFKA: Final = "kafka."
_STAGING: Final = "_odradek_staging"
# Settings of the producer that cannot be set, and why.
_NOT_TO_BE_SET: Final = {
    "kafka.key.serializer": "keys are bytes or text; cast the column",
    "kafka.value.serializer": "values are bytes or text; cast the column",
    "kafka.transactional.id": "the sink makes it of the query's id, by which it finds what was committed",
    "kafka.interceptor.classes": "classes of Java cannot run here",
    "kafka.partitioner.class": "classes of Java cannot run here; give the column partition",
}
_FOR_READS: Final = {
    "includeheaders": "headers are written where the rows have the column headers",
    "subscribe": "name the topic that is written with the option topic, or with the column topic",
    "path": "name the topic that is written with the option topic, or with the column topic",
}


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """The checked options of a batch write or of a streaming query; sent to the executors."""

    topic: str | None
    """None where each row names its topic."""
    settings: Mapping[str, str] = field(repr=False)
    """Those of the producer, by Kafka's names; may hold secrets, which are not shown."""
    is_exactly_once: bool = False
    staging_location: str = ""
    """The directory, as a path or a URI, in which tasks stage rows; "" where rows are sent by the tasks."""
    checkpoint: str = ""
    """Where the checkpoint of the query is, the machine included if only that one has it; "" if not known."""

    @property
    def brokers(self) -> Brokers:
        """The brokers that are written to."""
        protection = {name: text for name, text in self.settings.items() if name.startswith(PREFIXES)}
        return Brokers(
            self.settings["bootstrap.servers"], self.settings.get("client.id", "odradek"), protection
        )


def parse_sink_options(options: Mapping[str, str], *, is_stream: bool) -> SinkOptions:
    """The options of a write. Raises SettingError for the first that is unknown or malformed."""
    given = {name.lower(): value for name, value in options.items()}
    for name in sorted(given):
        _check_name(name, is_stream=is_stream)
    if "kafka.bootstrap.servers" not in given:
        raise SettingError("the option kafka.bootstrap.servers is missing")
    guarantee = given.get("deliveryguarantee", EXACTLY_ONCE if is_stream else AT_LEAST_ONCE).lower()
    if guarantee not in GUARANTEES:
        raise SettingError(f"deliveryGuarantee must be one of {', '.join(GUARANTEES)}, not '{guarantee}'")
    is_exactly_once = guarantee == EXACTLY_ONCE
    if not is_exactly_once and "staginglocation" in given:
        raise SettingError(f"stagingLocation has an effect only with deliveryGuarantee={EXACTLY_ONCE}")
    topic = given.get("topic")
    if topic is not None and not topic.strip():
        raise SettingError("the option topic is empty")
    return SinkOptions(
        topic=topic,
        settings=_settings(given, is_exactly_once=is_exactly_once),
        is_exactly_once=is_exactly_once,
        staging_location=_staging_location(given) if is_exactly_once else "",
        checkpoint=_checkpoint(given) if is_exactly_once else "",
    )


def _check_name(name: str, *, is_stream: bool) -> None:
    """Raises SettingError for a name in lower case that is not served."""
    if name in _NOT_TO_BE_SET:
        raise SettingError(f"the option {name} cannot be set: {_NOT_TO_BE_SET[name]}")
    if name in _FOR_READS:
        raise SettingError(f"the option {name} is for reads: {_FOR_READS[name]}")
    is_served = name in (one.lower() for one in SERVED) or name.startswith(_KAFKA)
    if not is_served and not (is_stream and name in _OF_THE_QUERY):
        raise unknown_option("sink odradek", name, SERVED, ", and kafka.*")


def _settings(given: Mapping[str, str], *, is_exactly_once: bool) -> Mapping[str, str]:
    """The producer's settings, by Kafka's names. Raises SettingError if it would refuse them."""
    found = {name.removeprefix(_KAFKA): text for name, text in given.items() if name.startswith(_KAFKA)}
    # That of the query is known later, and this one stands for it.
    with_id = {"transactional.id": "odradek"} if is_exactly_once else {}
    try:
        producer_settings(read_settings(Client.PRODUCER, {**found, **with_id}))
    except SettingError as error:
        raise SettingError(f"the options kafka.* of the sink odradek: {error}") from None
    return found


def _staging_location(given: Mapping[str, str]) -> str:
    location = given.get("staginglocation")
    if location is None and (checkpoint := given.get("checkpointlocation")):
        location = f"{checkpoint.rstrip('/')}/{_STAGING}"
    if location is None:
        raise SettingError(
            f"deliveryGuarantee={EXACTLY_ONCE} stages rows in a directory that the driver and all executors"
            " see: name it with stagingLocation, or give a streaming query the option checkpointLocation"
        )
    if not location.strip():
        raise SettingError("the option stagingLocation is empty")
    scheme, rest = _parts(location)
    if not scheme:
        return rest
    # Hadoop's names of S3.
    return f"s3:{rest}" if scheme in ("s3a", "s3n") else location


def _checkpoint(given: Mapping[str, str]) -> str:
    checkpoint = given.get("checkpointlocation", "").strip().rstrip("/")
    if not checkpoint:
        return ""
    scheme, rest = _parts(checkpoint)
    if scheme not in ("", "file"):
        return checkpoint
    return f"{socket.gethostname()}:{Path('/' + rest.lstrip('/'))}"


def _parts(location: str) -> tuple[str, str]:
    """The scheme of a URI and the rest; a path has the scheme "", and is absolute then."""
    scheme, colon, rest = location.partition(":")
    return (scheme, rest) if colon and "/" not in scheme else ("", str(Path(location).absolute()))


def new_write_id() -> str:
    """The id of a batch write, which no other has."""
    return f"write-{uuid4()}"
