"""Replicas of partitions in JSON files, as `kafka-reassign-partitions.sh` writes and reads them.

{"version": 1, "partitions": [{"topic": "flights", "partition": 0, "replicas": [1, 2, 3]}]}

`log_dirs` may name `any` for each replica, which is what leaving it out means.
"""

import json
from collections.abc import Mapping
from typing import Any

from odradek.base.errors import OdradekError
from odradek.base.ids import TopicPartition
from odradek.cli.input_files import name_of, read_text
from odradek.client.replica_placement import Replicas

_NUMBER_MAX = (1 << 31) - 1


def read_reassignments(path: str) -> dict[TopicPartition, Replicas]:
    """The replicas of partitions in a file, or in standard input for "-".

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


def write_reassignments(path: str, partitions: Mapping[TopicPartition, Replicas]) -> None:
    """Write a new file with these replicas. Raises OdradekError, also if the file exists."""
    try:
        with open(path, "x", encoding="utf-8") as file:
            json.dump(reassignment_document(partitions), file)
            file.write("\n")
    except FileExistsError:
        raise OdradekError(f"{path} exists already; nothing was moved") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OdradekError(f"cannot write {path}: {reason}; nothing was moved") from error


def reassignment_document(partitions: Mapping[TopicPartition, Replicas]) -> dict[str, Any]:
    """The document for these replicas."""
    rows = [
        {"topic": topic, "partition": number, "replicas": list(replicas)}
        for (topic, number), replicas in sorted(partitions.items())
    ]
    return {"version": 1, "partitions": rows}


def _read(document: object) -> dict[TopicPartition, Replicas]:
    if not isinstance(document, dict) or not isinstance(document.get("partitions"), list):
        raise ValueError('it has no list "partitions"')
    if document.get("version", 1) != 1:
        raise ValueError(f"its version is {json.dumps(document['version'])}; the only one is 1")
    found: dict[TopicPartition, Replicas] = {}
    for place, row in enumerate(document["partitions"], 1):
        named, replicas = _row(row, f"entry {place}")
        if named in found:
            raise ValueError(f"{named} is there twice")
        found[named] = replicas
    if not found:
        raise ValueError("it names no partition")
    return found


def _row(row: object, where: str) -> tuple[TopicPartition, Replicas]:
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
    directories = row.get("log_dirs", ["any"] * len(replicas))
    if not isinstance(directories, list) or len(directories) != len(replicas):
        raise ValueError(f'{named} has not one of "log_dirs" for each replica')
    if any(one != "any" for one in directories):
        raise ValueError(f'{named} names "log_dirs": replicas are moved between brokers, not directories')
    return named, tuple(replicas)


def _is_number(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= _NUMBER_MAX
