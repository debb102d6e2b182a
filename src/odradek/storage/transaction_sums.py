"""`transaction-index-checkpoint`: the entry counts and CRCs by which a log verifies its `.txnindex` files.

A `.txnindex` has no checksum, and a lost one looks like that of a segment without aborts. A missing entry
would show aborted records to read-committed consumers, so this file has one line per complete index:

0
1
42 2 1807530325      segment 42 has two aborted transactions, with this CRC-32C over the file

A log that ever held a transaction's marker has this file, if only with no line in it. Kafka does not know
the file and leaves it alone; a log that comes from Kafka has none, and its transactions are then read from
the batches once.
"""

from collections.abc import Mapping

from odradek.base.ids import Offset
from odradek.storage import file_names
from odradek.storage.checkpoint import Damage, is_number, read_lines, render_lines
from odradek.storage.files import FileSystem, write_atomically
from odradek.storage.segments import Segments
from odradek.storage.transaction_index import IndexSum

Sums = Mapping[Offset, IndexSum]


def sums_of(segments: Segments) -> Sums:
    """By base offset, of every segment in which a transaction was aborted."""
    found = {segment.base_offset: segment.transaction_index.checksum() for segment in segments}
    return {base: known for base, known in found.items() if known.entries}


def read_sums(file_system: FileSystem, directory: str) -> tuple[Sums | None, Damage | None]:
    """What is written down in a log's directory; None when the file is missing or damaged."""
    path = _path(directory)
    if not file_system.exists(path):
        return None, None
    rows, damage = read_lines(file_system, path, columns=3)
    if damage is None and not all(is_number(column) for row in rows for column in row):
        damage = Damage(path, "a column is no number")
    if damage is not None:
        return None, damage
    return {int(base): IndexSum(int(entries), int(crc)) for base, entries, crc in rows}, None


def write_sums(file_system: FileSystem, directory: str, sums: Sums) -> None:
    """Replace the file. Not synced: the log's next flush does that."""
    lines = (f"{base} {known.entries} {known.crc}" for base, known in sums.items())
    write_atomically(file_system, _path(directory), render_lines(lines), durable=False)


def _path(directory: str) -> str:
    return f"{directory}/{file_names.TRANSACTION_SUMS}"
