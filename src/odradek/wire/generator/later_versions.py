"""Versions of APIs that are newer than kio's schemas: what they add to the tables derived from kio.

Facts of Apache Kafka 4.4's message definitions; `compat` compares every table with the definitions that the
newest kafka-clients ships. An entry goes once kio has the version.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from odradek.wire.schema import SchemaFile, Struct, parse_field
from odradek.wire.versions import Versions


@dataclass(frozen=True)
class Later:
    """What one version newer than kio's changes."""

    version: int
    """The new highest version of the API."""
    fields: Mapping[str, tuple[str, ...]]
    """By structure: fields in the language of the tables, which go behind the structure's others."""
    replaced: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By structure: a field that ends before the version, and the field that takes its place."""


LATER: Final[Mapping[str, Later]] = {
    "ApiVersions": Later(  # KIP-1242: which broker the client takes this one for
        5, {"ApiVersionsRequest": ("cluster_id: string? @5+ = null", "node_id: int32 @5+ = -1")}
    ),
    "DeleteGroups": Later(3, {"DeletableGroupResult": ("error_message: string? @3+ = null",)}),
    "TxnOffsetCommit": Later(  # KIP-1319: topics by id
        6,
        {},
        {
            "TxnOffsetCommitRequestTopic": ("name", "topic_id: uuid @6+"),
            "TxnOffsetCommitResponseTopic": ("name", "topic_id: uuid @6+"),
        },
    ),
}


def known_to_kio(api_name: str, versions: Versions) -> Versions:
    """The part of an API's versions that kio's schemas cover."""
    later = LATER.get(api_name)
    return versions if later is None else Versions(versions.lowest, later.version - 1)


def add_later_version(schema: SchemaFile) -> None:
    """Extend a table derived from kio by what the newer version adds."""
    later = LATER.get(schema.name)
    if later is None:
        return
    structs: dict[str, Struct] = dict(schema.structs) | {one.name: one for one in schema.messages}
    for message in schema.messages:
        message.versions = Versions(message.versions.lowest, later.version)
    for name, lines in later.fields.items():
        structs[name].fields += [parse_field(line, schema.structs) for line in lines]
    for name, (ended, line) in later.replaced.items():
        fields = structs[name].fields
        place = next(index for index, one in enumerate(fields) if one.name == ended)
        fields[place].versions = Versions(0, later.version - 1)
        fields.insert(place + 1, parse_field(line, schema.structs))
