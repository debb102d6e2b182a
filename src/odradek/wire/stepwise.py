"""Decodes large messages in steps, between which the loop serves other connections.

A message of thousands of array elements takes tens of milliseconds to decode. This reader walks its field
table and yields every ELEMENTS_PER_STEP elements. Nearly all elements are in arrays whose elements hold no
arrays; for those it calls the array's generated reader, ELEMENTS_PER_STEP elements at a time. So it is slower
only on the levels above. Tests compare the two readers.

    topics: 1 element, walked here   partitions of it: 100,000 elements, 500 calls of the generated reader
"""

import struct as binary
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import ModuleType
from typing import Any, Final, TypeAlias

from odradek.base.buffers import Buffer
from odradek.base.execution import Steps
from odradek.wire import decoding
from odradek.wire.decoding import ElementBudget, Undecodable, read_tag, read_tag_count
from odradek.wire.layout import STRUCT_FORMATS, element_bytes_min, first_versions
from odradek.wire.schema import LENGTH_BYTES, Field, MessageSchema, Struct, parse
from odradek.wire.snake_case import snake_case

ELEMENTS_PER_STEP: Final = 200
"""How many a generated reader reads, well below half a millisecond."""
ELEMENTS_HERE_PER_STEP: Final = 25
"""How many are read field by field."""
TAGGED_FIELDS_PER_STEP: Final = 500
"""How many the elements of one step may have together before they are read field by field."""

Reading: TypeAlias = Steps[tuple[Any, int]]
"""Reads a value; returns it and the position behind it."""
ReadSome: TypeAlias = Callable[[Buffer, int, int, ElementBudget], tuple[list[Any], int]]
"""Reads so many elements; returns them and the position behind them."""


def decode_steps(
    kind: type[object], buffer: Buffer, version: int, position: int, budget: ElementBudget
) -> Reading:
    """Decode a message of the generated class `kind` like its decoder of that version, in steps.

    Raises what that decoder raises.
    """
    reader = _reader(kind.__module__, kind.__name__, version)
    return reader.structure(reader.message, buffer, position, budget)


@lru_cache(256)
def _reader(module: str, name: str, version: int) -> "_Reader":
    return _Reader(sys.modules[module], name, version)


class _Reader:
    """Reads one message in one version."""

    def __init__(self, module: ModuleType, name: str, version: int) -> None:
        self._messages = parse(getattr(module, name).SCHEMA).messages
        self.message: MessageSchema = next(one for one in self._messages if one.name == name)
        self._version = version
        self._flexible = self.message.is_flexible(version)
        # Where the classes and the generated readers are.
        self._module = module
        # By array, what follows from the schema: a message may hold as many arrays as elements.
        self._arrays = {id(one): self._array_reader(one) for one in self._array_fields(self.message)}

    def structure(self, struct: Struct, buffer: Buffer, at: int, budget: ElementBudget) -> Reading:
        """Read a structure's fields, then its tagged fields."""
        item = getattr(self._module, struct.name)()
        for one in struct.fields_in(self._version):
            value, at = yield from self._field(one, buffer, at, budget)
            setattr(item, one.name, value)
        if self._flexible:
            at = yield from self._tagged_fields(struct, item, buffer, at, budget)
        return item, at

    def _tagged_fields(
        self, struct: Struct, item: object, buffer: Buffer, at: int, budget: ElementBudget
    ) -> Steps[int]:
        known = {one.tag: one for one in struct.tagged_fields_in(self._version)}
        count, at = read_tag_count(buffer, at, budget)
        for number in range(count):
            tag, at, end = read_tag(buffer, at)
            one = known.get(tag)
            if one is None:
                at = end
            else:
                value, at = yield from self._field(one, buffer, at, budget)
                setattr(item, one.name, value)
            if at != end:
                raise Undecodable
            if number % ELEMENTS_PER_STEP == 0:
                yield
        return at

    def _field(self, one: Field, buffer: Buffer, at: int, budget: ElementBudget) -> Reading:
        nullable = one.nullable_in(self._version)
        if one.is_array:
            return (yield from self._array(one, nullable, buffer, at, budget))
        if one.struct is None:
            return self._scalar(one.type, nullable, buffer, at)
        if nullable:
            tagged = "" if one.tag is None else "tagged_"
            present, at = getattr(decoding, f"read_{tagged}presence")(buffer, at)
            if not present:
                return None, at
        return (yield from self.structure(one.struct, buffer, at, budget))

    def _scalar(self, type_name: str, nullable: bool, buffer: Buffer, at: int) -> tuple[Any, int]:
        if type_name in LENGTH_BYTES:
            type_name = f"{self._compact}{'nullable_' * nullable}{type_name}"
        elif type_name in STRUCT_FORMATS:
            layout = binary.Struct(">" + STRUCT_FORMATS[type_name])
            return layout.unpack_from(buffer, at)[0], at + layout.size
        value: tuple[Any, int] = getattr(decoding, f"read_{type_name}")(buffer, at)
        return value

    def _array(self, one: Field, nullable: bool, buffer: Buffer, at: int, budget: ElementBudget) -> Reading:
        least, read_some = self._arrays[id(one)]
        counter = getattr(decoding, f"read_{self._compact}{'nullable_' * nullable}count")
        left, at = counter(buffer, at, least, budget)
        if left < 0:
            return None, at
        if read_some is None:
            assert one.struct is not None, f"{one.name} holds no arrays"
            return (yield from self._elements(one.struct, left, buffer, at, budget))
        items: list[Any] = []
        while left:
            count = min(left, ELEMENTS_PER_STEP)
            left -= count
            allowance = ElementBudget(min(budget.left, TAGGED_FIELDS_PER_STEP))
            before = allowance.left
            try:
                some, at = read_some(buffer, at, count, allowance)
            except Undecodable:
                if one.struct is None or allowance.left >= 0:
                    raise
                some, at = yield from self._elements(one.struct, count, buffer, at, budget)
            else:
                budget.spend(before - allowance.left)
            items += some
            yield
        return items, at

    def _elements(
        self, struct: Struct, count: int, buffer: Buffer, at: int, budget: ElementBudget
    ) -> Steps[tuple[list[Any], int]]:
        """Read elements that hold arrays, or many tagged fields, one by one."""
        items: list[Any] = []
        for number in range(count):
            item, at = yield from self.structure(struct, buffer, at, budget)
            items.append(item)
            if number % ELEMENTS_HERE_PER_STEP == 0:
                yield
        return items, at

    def _array_fields(self, struct: Struct) -> Iterator[Field]:
        """The arrays of a structure in this version, at any depth."""
        for one in struct.fields:
            if self._version in one.versions:
                if one.is_array:
                    yield one
                if one.struct is not None:
                    yield from self._array_fields(one.struct)

    def _array_reader(self, one: Field) -> tuple[int, ReadSome | None]:
        """The least bytes of an element, and the bulk reader; None if the elements hold arrays."""
        least = element_bytes_min(one, self._version, self._flexible)
        if one.struct is not None and next(self._array_fields(one.struct), None) is not None:
            return least, None
        return least, self._bulk_reader(one)

    def _bulk_reader(self, one: Field) -> ReadSome:
        """Returns the function that reads a number of elements that hold no arrays."""
        if one.struct is not None:
            layout = first_versions(one.struct, self._messages)[self._version]
            name = f"_read_{snake_case(one.struct.name)}_v{layout}_array"
            generated: ReadSome = getattr(self._module, name)
            return generated
        compact = self._compact if one.type in LENGTH_BYTES else ""
        read = getattr(decoding, f"read_{compact}{one.type}s")
        return lambda buffer, at, count, budget: read(buffer, at, count)

    @property
    def _compact(self) -> str:
        return "compact_" if self._flexible else ""
