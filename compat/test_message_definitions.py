"""Our field tables against the message definitions of kafka-clients 4.4.0: names, types, versions, tags.

Also which APIs and versions are served, against 4.4.0 and the release that a broker is held to.
"""

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from peers.jars import POM, JarsMissing, jars_of
from tools.handler_index import declared
from tools.kafka_differences import ABSENT, NEWER, UNSTABLE

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
def definitions(pom: Path = JAVA / "pom.xml", name: str = "java-client") -> Mapping[str, Any]:
    """Every message of the protocol by its name; by default as the newest clients have them."""
    try:
        jars = jars_of(pom, name)
    except JarsMissing as missing:
        pytest.skip(str(missing))
    (jar,) = Path(jars).glob("kafka-clients-*.jar")
    found = {}
    with zipfile.ZipFile(jar) as opened:
        for path in opened.namelist():
            if path.startswith("common/message/") and path.endswith(".json"):
                message = json.loads(COMMENT.sub("", opened.read(path).decode()))
                found[message["name"]] = message
    return found


def of_brokers(messages: Mapping[str, Any]) -> dict[int, tuple[str, Versions]]:
    """The APIs that Kafka's brokers have for clients, with their versions, by key."""
    found = {}
    for message in messages.values():
        versions = versions_of(message["validVersions"])
        if "broker" in message.get("listeners", ()) and versions is not None:
            found[message["apiKey"]] = (message["name"].removesuffix("Request"), versions)
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


def test_the_versions_of_an_api_are_kafka_s() -> None:
    newest, of_release = of_brokers(definitions()), of_brokers(definitions(POM, "kafka"))
    for api in APIS.values():
        if not api.inter_broker_only:
            name, theirs = newest[api.key]
            assert (name, theirs.lowest) == (api.name, api.versions.lowest)
            assert api.versions.highest == theirs.highest - (name in UNSTABLE), name
    for name, version in UNSTABLE.items():
        assert definitions()[f"{name}Request"]["latestVersionUnstable"] is True
        assert versions_of(definitions()[f"{name}Request"]["validVersions"]).highest == version  # type: ignore[union-attr]
    newer = {
        name: theirs.highest
        for key, (name, theirs) in newest.items()
        if key in of_release and theirs.highest > of_release[key][1].highest and key in served()
    }
    assert newer == NEWER, "the versions that docs/compat.md says are of a later release"


def served() -> set[int]:
    return {one.key for one in declared().values()}


def test_every_api_of_kafka_s_brokers_is_served_or_said_to_be_absent() -> None:
    absent = {key: name for one in ABSENT for key, name in one.keys.items()}
    known = {key: api.name for key, api in APIS.items() if not api.inter_broker_only}
    assert known | absent == {key: name for key, (name, _) in of_brokers(definitions()).items()}
    assert not known.keys() & absent.keys()
