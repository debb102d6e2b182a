from pathlib import Path

import pytest

import odradek.wire.schemas
from odradek.wire.schema import SchemaError, parse, parse_versions, render
from odradek.wire.versions import VERSION_LIMIT, Versions

TABLES = sorted(path for folder in odradek.wire.schemas.__path__ for path in Path(folder).glob("*.fields"))

EXAMPLE = """api 99 Example

request ExampleRequest 1-3 flexible 2+
    names: [string]?2+ @2+
    owner: Owner? tag 0 = null
        id: int32 = -1
    owners: [Owner]

response ExampleResponse 1-3 flexible 2+
    error_code: int16
"""


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_every_table_is_written_as_it_is_read(path: Path) -> None:
    assert render(parse(path.read_text())) == path.read_text()


def test_fields_say_where_they_deviate() -> None:
    schema = parse(EXAMPLE)
    request = schema.messages[0]
    names, owner, owners = request.fields
    assert (schema.name, schema.api_key, request.versions) == ("Example", 99, Versions(1, 3))
    assert (names.is_array, names.versions, names.null_versions) == (
        True,
        Versions(2, VERSION_LIMIT),
        Versions(2, VERSION_LIMIT),
    )
    assert (owner.tag, owner.default, owner.nullable_in(1)) == (0, "null", True)
    assert owners.struct is owner.struct
    assert [one.name for one in request.fields_in(1)] == ["owners"]
    assert [one.name for one in request.tagged_fields_in(1)] == ["owner"]
    assert [request.is_flexible(version) for version in (1, 2)] == [False, True]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fields Example", "a file opens with"),
        ("api 1 Example\n\nrequest ExampleRequest", "not the head of a message"),
        ("api 1 Example\n\nrequest ExampleRequest 1\n    id int32", "not a field"),
        ("api 1 Example\n\nrequest ExampleRequest 1\n        id: int32", "indented below nothing"),
    ],
)
def test_lines_outside_the_language_are_refused(text: str, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        parse(text)


def test_versions_are_one_a_range_or_open() -> None:
    assert parse_versions("3") == (3, 3)
    assert parse_versions("3-7") == (3, 7)
    assert parse_versions("3+") == (3, VERSION_LIMIT)
