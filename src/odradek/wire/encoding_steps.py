"""Encodes wide messages in steps, between which the loop serves other connections; the mirror of `stepwise`.

The generated writers do the encoding. A structure with a very long array is written with a hole in its place:
a placeholder that has the array's length but no elements. Then the elements are written into the hole, a
limited number in each step.

    topics: 1 element, with a hole    partitions of it: 100,000 elements, 500 calls of the generated writer
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol, TypeAlias

from odradek.base.buffers import Buffer
from odradek.base.execution import Steps
from odradek.wire.encoding import Payloads, gather
from odradek.wire.layout import carries_records, first_versions
from odradek.wire.schema import MessageSchema, Struct, parse
from odradek.wire.snake_case import snake_case

ELEMENTS_PER_STEP: Final = 200
"""How many a generated writer writes, well below half a millisecond."""


class Encodable(Protocol):
    """A message of a generated class (`message.Message`, which calls this module)."""

    def encode_parts(self, version: int, head: bytes = b"") -> list[Buffer]:
        """All its bytes in one step."""


WriteSome: TypeAlias = Callable[[bytearray, list[Any], Payloads], None]


def encode_in_steps(message: Encodable, version: int, head: bytes = b"") -> Steps[list[Buffer]]:
    """See `Message.encode_parts`; few elements make no step at all."""
    kind = type(message)
    layout = _layout(kind.__module__, kind.__name__, version)
    if layout.weight(message) <= ELEMENTS_PER_STEP:
        return message.encode_parts(version, head)
    out, payloads = bytearray(head), Payloads()
    yield from _write_wide(layout, message, out, payloads)
    return gather(out, payloads)


class _Layout:
    """How one structure is written in one version."""

    def __init__(self, write: WriteSome, arrays: Sequence[tuple[tuple[str, ...], str, "_Layout"]]) -> None:
        self.write = write
        self.arrays = arrays
        """The arrays of structures, in their order: the names of the structures around each within this one,
        its own name, and how its elements are written."""

    def weight(self, item: object) -> int:
        """How many elements a structure is worth; from ELEMENTS_PER_STEP on not counted to the end."""
        weight = 1
        for path, name, layout in self.arrays:
            owner = _within(item, path) if path else item
            values = () if owner is None else getattr(owner, name) or ()
            if not layout.arrays or weight + len(values) > ELEMENTS_PER_STEP:
                weight += len(values)
                continue
            for value in values:
                weight += layout.weight(value)
                if weight > ELEMENTS_PER_STEP:
                    return weight
        return weight


def _within(item: Any, path: Sequence[str]) -> Any:  # noqa: ANN401 - any structure
    """The structure there; None if it is absent."""
    for name in path:
        if item is not None:
            item = getattr(item, name)
    return item


class _Hole:
    """Stands in an array's place while what is around it is written, and says where that is."""

    def __init__(self, owner: object, name: str, layout: _Layout, values: list[Any], out: bytearray) -> None:
        self.owner = owner
        self.name = name
        self.layout = layout
        self.values = values
        self._out = out
        self.place = 0

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        self.place = len(self._out)
        return iter(())


def _write_wide(layout: _Layout, item: object, out: bytearray, payloads: Payloads) -> Steps[None]:
    """Write a structure around its arrays, and these a few elements at a time."""
    around, held = bytearray(), Payloads()
    holes = _write_around(layout, item, around, held)
    start = 0
    for hole in holes:
        _take_over(around, held, start, hole.place, out, payloads)
        yield from _write_array(hole.layout, hole.values, out, payloads)
        start = hole.place
    _take_over(around, held, start, len(around), out, payloads)


def _write_around(layout: _Layout, item: object, out: bytearray, payloads: Payloads) -> list[_Hole]:
    """Write a structure with holes for its arrays, in one step: the structure is whole again after it."""
    holes = []
    for path, name, inner in layout.arrays:
        owner = _within(item, path)
        if owner is not None and (values := getattr(owner, name)):
            holes.append(_Hole(owner, name, inner, values, out))
    try:
        for hole in holes:
            setattr(hole.owner, hole.name, hole)
        layout.write(out, [item], payloads)
    finally:
        for hole in holes:
            setattr(hole.owner, hole.name, hole.values)
    return holes


def _take_over(
    around: bytearray, held: Payloads, start: int, end: int, out: bytearray, payloads: Payloads
) -> None:
    """Append [`start`, `end`) of what was written around holes, with the payloads that lie there."""
    moved_by = len(out) - start
    while held and held[0][0] <= end:
        place, payload = held.pop(0)
        payloads.append((place + moved_by, payload))
    out += around[start:end]


def _write_array(layout: _Layout, values: list[Any], out: bytearray, payloads: Payloads) -> Steps[None]:
    some: list[Any] = []
    weight = 0
    for value in values:
        more = layout.weight(value) if layout.arrays else 1
        if more > ELEMENTS_PER_STEP:
            layout.write(out, some, payloads)
            some, weight = [], 0
            yield from _write_wide(layout, value, out, payloads)
            continue
        some.append(value)
        weight += more
        if weight >= ELEMENTS_PER_STEP:
            layout.write(out, some, payloads)
            some, weight = [], 0
            yield
    layout.write(out, some, payloads)


@lru_cache(256)
def _layout(module: str, name: str, version: int) -> _Layout:
    messages = parse(getattr(sys.modules[module], name).SCHEMA).messages
    message: MessageSchema = next(one for one in messages if one.name == name)
    encode = getattr(sys.modules[module], name).ENCODERS[version]

    def write(out: bytearray, items: list[Any], payloads: Payloads) -> None:
        for item in items:
            encode(out, item, payloads)

    return _Layout(write, _arrays(module, message, version, messages))


def _arrays(
    module: str, struct: Struct, version: int, messages: list[MessageSchema]
) -> list[tuple[tuple[str, ...], str, _Layout]]:
    """The arrays of structures; those in tagged fields are written with what is around them."""
    found: list[tuple[tuple[str, ...], str, _Layout]] = []
    for one in struct.fields_in(version):
        if one.struct is None:
            continue
        inner = _arrays(module, one.struct, version, messages)
        if one.is_array:
            layout = _Layout(_writer(module, one.struct, version, messages), inner)
            found.append(((), one.name, layout))
        else:
            found += [((one.name, *path), name, layout) for path, name, layout in inner]
    return found


def _writer(module: str, struct: Struct, version: int, messages: list[MessageSchema]) -> WriteSome:
    first = first_versions(struct, messages)[version]
    generated = getattr(sys.modules[module], f"_write_{snake_case(struct.name)}_v{first}_array")
    if carries_records(struct):
        write: WriteSome = generated
        return write
    return lambda out, items, payloads: generated(out, items)
