"""Replicas of partitions in JSON files, as `kafka-reassign-partitions.sh` writes and reads them.

{"version": 1, "partitions": [
    {"topic": "flights", "partition": 0, "replicas": [1, 2], "log_dirs": ["/disk2/odradek", "any"]}]}

`log_dirs` names a log directory of the broker for each replica, or `any`, which is what leaving it out means.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from odradek.base.errors import OdradekError
from odradek.base.ids import BrokerId, TopicPartition
from odradek.base.system_errors import reason_of
from odradek.base.values import value
from odradek.cli.input_files import name_of, read_text
from odradek.client.core.admin.log_dirs import TopicPartitionReplica
from odradek.client.replica_placement import Replicas

_NUMBER_MAX = (1 << 31) - 1
ANY = "any"
"""Where a replica may be in any directory."""

Directories: TypeAlias = Mapping[TopicPartitionReplica, str]
"""The log directories in which replicas are to be, as absolute paths; without those that may be anywhere."""


@value
class Reassignments:
    """What a file asks for."""

    replicas: Mapping[TopicPartition, Replicas]
    directories: Directories


def read_reassignments(path: str) -> Reassignments:
    """The replicas of partitions, and their directories, in a file, or in standard input for "-".

    Raises OdradekError for a file that cannot be read, or whose content is not understood.
    """
    named, text = name_of(path), read_text(path)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise OdradekError(f"{named} is not JSON") from None
    try:
        return _read(document)
    except ValueError as error:
        raise OdradekError(f"{named}: {error}") from None


def write_reassignments(path: str, wanted: Reassignments) -> None:
    """Write a new file with these replicas. Raises OdradekError, also if the file exists."""
    try:
        with open(path, "x", encoding="utf-8") as file:
            json.dump(_document(wanted), file)
            file.write("\n")
    except FileExistsError:
        raise OdradekError(f"{path} exists already; nothing was moved") from None
    except OSError as error:
        reason = reason_of(error)
        raise OdradekError(f"cannot write {path}: {reason}; nothing was moved") from error


def log_dirs_of(
    partition: TopicPartition, replicas: Iterable[BrokerId], directories: Directories
) -> dict[str, list[str]]:
    """The field `log_dirs` of a partition; nothing if its replicas may be in any directory."""
    named = [directories.get(TopicPartitionReplica(*partition, one), ANY) for one in replicas]
    return {"log_dirs": named} if any(one != ANY for one in named) else {}


def _document(wanted: Reassignments) -> dict[str, Any]:
    rows = [
        {"topic": named.topic, "partition": named.partition, "replicas": list(replicas)}
        | log_dirs_of(named, replicas, wanted.directories)
        for named, replicas in sorted(wanted.replicas.items())
    ]
    return {"version": 1, "partitions": rows}


def _read(document: object) -> Reassignments:
    if not isinstance(document, dict) or not isinstance(document.get("partitions"), list):
        raise ValueError('it has no list "partitions"')
    if document.get("version", 1) != 1:
        raise ValueError(f"its version is {json.dumps(document['version'])}; the only one is 1")
    found: dict[TopicPartition, Replicas] = {}
    directories: dict[TopicPartitionReplica, str] = {}
    for place, row in enumerate(document["partitions"], 1):
        named, replicas, paths = _row(row, f"entry {place}")
        if named in found:
            raise ValueError(f"{named} is there twice")
        found[named] = replicas
        directories |= {
            TopicPartitionReplica(*named, broker_id): path
            for broker_id, path in zip(replicas, paths, strict=True)
            if path != ANY
        }
    if not found:
        raise ValueError("it names no partition")
    return Reassignments(found, directories)


def _row(row: object, where: str) -> tuple[TopicPartition, Replicas, list[str]]:
    """The partition, its replicas, and the directory of each."""
    if not isinstance(row, dict):
        raise ValueError(f"{where} is no object")
    topic, number = row.get("topic"), row.get("partition")
    if not isinstance(topic, str) or not topic:
        raise ValueError(f'{where} has no "topic"')
    if not isinstance(number, int) or not _is_number(number):
        raise ValueError(f'{where} has no number "partition"')
    named = TopicPartition(topic, number)
    replicas = row.get("replicas")
    if not isinstance(replicas, list) or not all(map(_is_number, replicas)):
        raise ValueError(f'{named} has no list "replicas" of broker ids')
    if not replicas:
        raise ValueError(f"{named} has an empty list of replicas")
    if len(set(replicas)) < len(replicas):
        raise ValueError(f"{named} has two replicas on one broker: {replicas}")
    directories = row.get("log_dirs", [ANY] * len(replicas))
    if not isinstance(directories, list) or len(directories) != len(replicas):
        raise ValueError(f'{named} has not one of "log_dirs" for each replica')
    for one in directories:
        if not isinstance(one, str) or not (one == ANY or one.startswith("/")):
            raise ValueError(f"{named} has a log directory that is no absolute path: {json.dumps(one)}")
    return named, tuple(replicas), directories


def _is_number(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= _NUMBER_MAX
