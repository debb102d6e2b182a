import pytest

from odradek.wire.layout import bytes_min, carries_records, first_versions, structs_below
from odradek.wire.messages import consumer_protocol, fetch
from odradek.wire.schema import SchemaFile, parse


@pytest.fixture
def fetch_schema() -> SchemaFile:
    return parse(fetch.FIELD_TABLE)


def test_layouts_begin_where_a_structure_or_one_below_it_changes(fetch_schema: SchemaFile) -> None:
    first = first_versions(fetch_schema.structs["FetchTopic"], fetch_schema.messages[:1])
    assert sorted(set(first.values())) == [4, 5, 9, 12, 13, 17, 18]
    assert (first[11], first[16]) == (9, 13)


def test_a_shared_structure_has_the_layouts_of_all_its_messages() -> None:
    schema = parse(consumer_protocol.FIELD_TABLE)
    assert first_versions(schema.structs["TopicPartition"], schema.messages) == {0: 1, 1: 1, 2: 1, 3: 1}


def test_inner_structures_come_first(fetch_schema: SchemaFile) -> None:
    names = [one.name for one in structs_below(fetch_schema.messages[0])]
    assert names == ["ReplicaState", "FetchPartition", "FetchTopic", "ForgottenTopic"]


def test_the_least_bytes_count_lengths_and_tagged_fields(fetch_schema: SchemaFile) -> None:
    partition = fetch_schema.structs["FetchPartition"]
    assert bytes_min(partition, 4, flexible=False) == 4 + 8 + 4
    assert bytes_min(partition, 12, flexible=True) == 4 + 4 + 8 + 4 + 8 + 4 + 1
    topic = fetch_schema.structs["FetchTopic"]
    assert bytes_min(topic, 4, flexible=False) == 2 + 4
    assert bytes_min(topic, 13, flexible=True) == 16 + 1 + 1


def test_records_are_found_at_any_depth(fetch_schema: SchemaFile) -> None:
    request, response = fetch_schema.messages
    assert carries_records(response)
    assert not carries_records(request)
