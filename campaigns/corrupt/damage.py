"""One damage to one file, chosen by a seed."""

from dataclasses import dataclass
from random import Random

from campaigns.corrupt.world import ROOT
from odradek.records.header import iter_headers
from odradek.storage.memory_files import MemoryFileSystem

# By the end of a file's name. Each kind is chosen equally often, for any number of its files.
KINDS = (
    ".log",
    ".index",
    ".timeindex",
    ".txnindex",
    ".snapshot",
    "leader-epoch-checkpoint",
    "transaction-index-checkpoint",
    "partition.metadata",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
    ".kafka_cleanshutdown",
    "meta.properties",
)
# The CRC of a batch covers nothing in the header before the CRC itself.
_OUTSIDE_CRC_BYTES = 17
WAYS = ("removed", "emptied", "truncated", "one bit flipped", "one byte overwritten")


@dataclass(frozen=True)
class Damage:
    """The damage that was done."""

    path: str
    kind: str
    way: str
    position: int
    """The byte that was changed, or from which on the file was cut."""
    is_outside_crc: bool = False
    """A byte of a batch's header that its CRC does not cover: offset, length, epoch or magic."""

    def __str__(self) -> str:
        return f"{self.path}: {self.way} at byte {self.position}"


def files_of(disk: MemoryFileSystem, directory: str = ROOT) -> list[str]:
    """Every file below a directory."""
    found = []
    for name, size_bytes in disk.list_directory(directory):
        path = f"{directory}/{name}"
        found += files_of(disk, path) if size_bytes < 0 else [path]
    return found


def do_damage(disk: MemoryFileSystem, random: Random) -> Damage:
    """Damage one file."""
    files = files_of(disk)
    kinds = [kind for kind in KINDS if any(path.endswith(kind) for path in files)]
    kind = random.choice(kinds)
    path = random.choice([path for path in files if path.endswith(kind)])
    content = disk.read(path)
    way = random.choice(WAYS if content else WAYS[:1])
    position = random.randrange(len(content)) if content else 0
    changes_a_byte = way in ("one bit flipped", "one byte overwritten")
    is_outside_crc = changes_a_byte and kind == ".log" and _is_outside_crc(content, position)
    if way == "removed":
        disk.remove(path)
    elif way == "emptied":
        disk.file(path).truncate(0)
    elif way == "truncated":
        disk.file(path).truncate(position)
    else:
        changed = change_bytes(content, way, position, random)
        disk.file(path).write_at(changed[position : position + 1], position)
    return Damage(path, kind, way, position, is_outside_crc)


def change_bytes(content: bytes, way: str, position: int, random: Random) -> bytes:
    """The content with the byte at `position` changed in one bit, or overwritten."""
    if way == "one bit flipped":
        other = content[position] ^ 1 << random.randrange(8)
    else:
        other = random.choice([byte for byte in range(256) if byte != content[position]])
    return content[:position] + bytes([other]) + content[position + 1 :]


def _is_outside_crc(batches: bytes, position: int) -> bool:
    starts = [start for start, _ in iter_headers(batches) if start <= position]
    return position - starts[-1] < _OUTSIDE_CRC_BYTES
