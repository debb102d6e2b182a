"""Our field tables against the message definitions of kafka-clients: names, types, versions, tags."""

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from peers.jars import JarsMissing, jars_of

from compat.clients.java import HERE as JAVA
from odradek.wire.apis import APIS, Api
from odradek.wire.schema import Struct, parse
from odradek.wire.snake_case import snake_case
from odradek.wire.versions import VERSION_LIMIT, Versions

pytestmark = pytest.mark.one_broker("compares tables and starts no broker")

COMMENT = re.compile(r"^\s*//.*$|\s//.*$", re.MULTILINE)
# Fields that Kafka has renamed since.
RENAMED = {"GenerationIdOrMemberEpoch": "generationid", "generation_id_or_member_epoch": "generationid"}
MESSAGES = [
    pytest.param(api, kind, id=api.name + kind)
    for api in APIS.values()
    if not api.inter_broker_only
    for kind in ("Request", "Response")
]


@cache
def definitions() -> Mapping[str, Any]:
    """Every message of the protocol by its name."""
    try:
        jars = jars_of(JAVA / "pom.xml", "java-client")
    except JarsMissing as missing:
        pytest.skip(str(missing))
    (jar,) = Path(jars).glob("kafka-clients-*.jar")
    found = {}
    with zipfile.ZipFile(jar) as opened:
        for name in opened.namelist():
            if name.startswith("common/message/") and name.endswith(".json"):
                message = json.loads(COMMENT.sub("", opened.read(name).decode()))
                found[message["name"]] = message
    return found


def versions_of(text: str | None) -> Versions | None:
    """`3`, `3-7`, `3+` or `none`."""
    if text in (None, "none"):
        return None
    lowest, dash, highest = str(text).rstrip("+").partition("-")
    if str(text).endswith("+"):
        return Versions(int(lowest), VERSION_LIMIT)
    return Versions(int(lowest), int(highest if dash else lowest))


def theirs(fields: list[Any], version: int, structs: Mapping[str, list[Any]]) -> Iterator[tuple[Any, ...]]:
    """The fields of one version in wire order, each with its own fields."""
    for one in fields:
        present = versions_of(one["versions"])
        if present is None or version not in present:
            continue
        type_name, is_array = one["type"].removeprefix("[]"), one["type"].startswith("[]")
        inner = one.get("fields") or structs.get(type_name)
        nullable = versions_of(one.get("nullableVersions"))
        tagged = versions_of(one.get("taggedVersions"))
        tag = one["tag"] if tagged is not None and version in tagged else None
        is_nullable = nullable is not None and version in nullable
        below = None if inner is None else tuple(theirs(inner, version, structs))
        yield (plain(one["name"]), None if below else type_name, is_array, is_nullable, tag, below)


def ours(struct: Struct, version: int) -> Iterator[tuple[Any, ...]]:
    """The same of our table."""
    for one in struct.fields:
        if version in one.versions:
            below = None if one.struct is None else tuple(ours(one.struct, version))
            type_name = None if below else one.type
            yield (plain(one.name), type_name, one.is_array, one.nullable_in(version), one.tag, below)


def plain(name: str) -> str:
    """A name without the differences in writing that kio and Kafka have: `MaxWaitMs`, `max_wait_ms`."""
    return RENAMED.get(name, snake_case(name).replace("_", "").removesuffix("ms"))


@pytest.mark.parametrize(("api", "kind"), MESSAGES)
def test_a_table_says_what_kafka_s_definition_says(api: Api, kind: str) -> None:
    definition = definitions()[api.name + kind]
    structs = {one["name"]: one["fields"] for one in definition.get("commonStructs", [])}
    message = (api.request_class if kind == "Request" else api.response_class).SCHEMA
    (table,) = [one for one in parse(message).messages if one.name == api.name + kind]
    for version in api.versions.span():
        expected = list(theirs(definition["fields"], version, structs))
        assert list(ours(table, version)) == expected, f"version {version}"
        flexible = versions_of(definition["flexibleVersions"])
        assert table.is_flexible(version) == (flexible is not None and version in flexible)


def test_no_version_of_an_api_is_newer_than_kafka_s() -> None:
    for api in APIS.values():
        if not api.inter_broker_only:
            known = versions_of(definitions()[api.name + "Request"]["validVersions"])
            assert known is not None
            assert api.versions.highest <= known.highest, api.name
