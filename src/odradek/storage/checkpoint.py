"""Kafka's checkpoint files: a few numbers per line, written atomically (R12).

0                        the version
2                        how many lines follow
orders 0 1207            topic, partition, offset (or, for leader epochs: epoch, start offset)
orders 1 988
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from odradek.base.ids import Offset, TopicPartition
from odradek.storage.files import FileSystem, write_atomically

_VERSION = "0"
_DIGITS_MAX = 18  # all of which fit in 64 bits


@dataclass(slots=True)
class Damage:
    """A damaged file, and what was done about it."""

    path: str
    reason: str
    remedy: str = "was ignored"

    def __str__(self) -> str:
        return f"{self.path} is damaged ({self.reason}) and {self.remedy}"


@dataclass(slots=True)
class Precedence:
    """What the broker's thread wrote to one checkpoint file while a write was in flight (X6)."""

    count: int = 0
    """How many times it wrote; raised by the broker's thread after it sets `offsets`."""
    offsets: dict[TopicPartition, Offset] = field(default_factory=dict)
    """What it wrote last."""


@dataclass(slots=True)
class CheckpointWrite:
    """A pending replacement of a checkpoint file, with the offsets at the time it was requested."""

    directory: str
    """The log directory that fails when the write fails."""
    path: str
    offsets: dict[TopicPartition, Offset]
    file_system: FileSystem
    precedence: Precedence = field(default_factory=Precedence)
    """Shared by the writes of this file."""
    taken_at: int = 0
    """`precedence.count` when `offsets` were taken: they are outdated once it is higher."""

    @property
    def is_outdated(self) -> bool:
        """Whether the broker's thread has written the file since the offsets were taken."""
        return self.precedence.count != self.taken_at

    def run(self) -> None:
        """Write the file and return once it is on disk; may block and run on any thread. Raises OSError.

        If the broker's thread writes the same file meanwhile, its content is written again here, so that the
        file holds it in the end.
        """
        while True:
            count = self.precedence.count
            data = _render_offsets(self.precedence.offsets if self.is_outdated else self.offsets)
            write_atomically(self.file_system, self.path, data, durable=True, temporary_suffix=".next.tmp")
            if self.precedence.count == count:
                return


def read_offsets(file_system: FileSystem, path: str) -> tuple[dict[TopicPartition, Offset], Damage | None]:
    """The offsets by partition; empty when the file is missing or damaged, the latter with its reason."""
    lines, damage = read_lines(file_system, path, columns=3)
    offsets: dict[TopicPartition, Offset] = {}
    for topic, partition, offset in lines:
        if not (is_number(partition) and is_number(offset)):
            return {}, Damage(path, f"'{topic} {partition} {offset}' is no topic, partition and offset")
        offsets[TopicPartition(topic, int(partition))] = int(offset)
    return offsets, damage


def write_offsets(
    file_system: FileSystem, path: str, offsets: Mapping[TopicPartition, Offset], *, durable: bool = True
) -> None:
    """Replace the file; with `durable` return once it is on disk."""
    write_atomically(file_system, path, _render_offsets(offsets), durable=durable)


def _render_offsets(offsets: Mapping[TopicPartition, Offset]) -> bytes:
    return render_lines(f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items())


def read_epochs(file_system: FileSystem, path: str) -> tuple[list[tuple[int, Offset]], Damage | None]:
    """Returns (epoch, start offset) in rising order, and the damage; empty if missing or damaged."""
    lines, damage = read_lines(file_system, path, columns=2)
    epochs: list[tuple[int, Offset]] = []
    for epoch, start_offset in lines:
        if not (is_number(epoch) and is_number(start_offset)):
            return [], Damage(path, f"'{epoch} {start_offset}' is no epoch and start offset")
        entry = (int(epoch), int(start_offset))
        if epochs and not (epochs[-1][0] < entry[0] and epochs[-1][1] <= entry[1]):
            return [], Damage(path, f"epoch {epoch} is out of order")
        epochs.append(entry)
    return epochs, damage


def write_epochs(file_system: FileSystem, path: str, epochs: Iterable[tuple[int, Offset]]) -> None:
    """Replace the file. Not synced: after a power cut, recovery reads the epochs from the batches."""
    lines = [f"{epoch} {start_offset}" for epoch, start_offset in epochs]
    write_atomically(file_system, path, render_lines(lines), durable=False)


def render_lines(lines: Iterable[str]) -> bytes:
    """The content of a checkpoint file with these lines."""
    rendered = list(lines)
    return "\n".join([_VERSION, str(len(rendered)), *rendered, ""]).encode()


def read_lines(file_system: FileSystem, path: str, columns: int) -> tuple[list[list[str]], Damage | None]:
    """Returns the columns of each line, and the damage; no lines if the file is missing or damaged."""
    if not file_system.exists(path):
        return [], None
    try:
        content = file_system.read(path).decode("ascii")
        version, count, *lines = content.splitlines()
    except (UnicodeDecodeError, ValueError):
        return [], Damage(path, "it has no header")
    if version.strip() != _VERSION:
        return [], Damage(path, f"its version is '{version[:20]}', not {_VERSION}")
    if not content.endswith("\n"):
        return [], Damage(path, "its last line is cut short")
    rows = [line.split() for line in lines if line.strip()]
    if not is_number(count) or int(count) != len(rows):
        return [], Damage(path, f"it announces '{count[:20]}' lines and has {len(rows)}")
    if any(len(row) != columns for row in rows):
        return [], Damage(path, f"a line does not have {columns} columns")
    return rows, None


def is_number(text: str) -> bool:
    """Whether a column is a number that can be an offset."""
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX
