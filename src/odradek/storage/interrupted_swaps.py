"""Finishes or undoes a compaction that a stop interrupted among its renames, at the opening of a log (L4).

    .cleaned beside .swap        undone: the sources are untouched
    .swap, every batch holds     finished: the sources are removed, the results get their names
    .swap damaged, its .log here undone: the sources are untouched, the damaged result is kept aside
    .swap damaged, no such .log  refused: a source is gone already, only a person can tell what is lost

The first source has the base offset of the result and is discarded first: while it is there, all are.
Invariant: no file is changed or removed before the results are known to hold.
"""

from odradek.base.errors import CorruptRecord, DataDirectoryError
from odradek.base.ids import Offset
from odradek.base.some_names import some_of
from odradek.records.header import check_crc
from odradek.storage import file_names
from odradek.storage.batch_walk import walk_batches
from odradek.storage.checkpoint import Damage
from odradek.storage.files import FileSystem


class InterruptedSwaps:
    """The `.swap` files of one partition's directory, checked when this is made.

    Raises DataDirectoryError, with nothing changed, if a damaged one cannot be undone.
    """

    __slots__ = ("_directory", "_ends", "_file_system", "_names", "_swaps", "_undone", "damages")

    def __init__(self, file_system: FileSystem, directory: str, wall_ms: int) -> None:
        self._file_system = file_system
        self._directory = directory
        self._names = [name for name, _ in file_system.list_directory(directory)]
        self._swaps = [name for name in self._names if name.endswith(file_names.SWAP)]
        self._undone: dict[str, str | None] = {}
        """The results to be dropped: None, or kept under another name."""
        self._ends: dict[Offset, Offset] = {}
        """By the base offset of each whole result, the offset behind its last batch."""
        self.damages: list[Damage] = []
        cleaned = [_base_offset(name) for name in self._names if name.endswith(file_names.CLEANED)]
        if cleaned:
            # It was still renaming its results: those from the first unfinished one on are dropped.
            first_unfinished = min(cleaned)
            self._undo([name for name in self._swaps if _base_offset(name) >= first_unfinished])
        for swap in [name for name in self._swaps if name.endswith(file_names.LOG + file_names.SWAP)]:
            self._check(swap, wall_ms)

    def settle(self) -> bool:
        """Finish or undo them. Returns whether a compaction was finished."""
        for name, kept_in in self._undone.items():
            path = f"{self._directory}/{name}"
            if kept_in is None:
                self._file_system.remove(path)
            else:
                self._file_system.rename(path, kept_in)
        for name in self._names:
            found = file_names.offset_and_suffix(name)
            if found is None or found[1] not in file_names.SEGMENT_SUFFIXES:
                continue
            if any(base_offset <= found[0] < end_offset for base_offset, end_offset in self._ends.items()):
                self._file_system.remove(f"{self._directory}/{name}")
        for swap in self._swaps:
            path = f"{self._directory}/{swap}"
            self._file_system.rename(path, path.removesuffix(file_names.SWAP))
        return bool(self._swaps)

    def _undo(self, names: list[str]) -> None:
        self._undone |= dict.fromkeys(names)
        self._swaps = [name for name in self._swaps if name not in self._undone]

    def _check(self, swap: str, wall_ms: int) -> None:
        path, base_offset = f"{self._directory}/{swap}", _base_offset(swap)
        end_offset, fault = _end_of(self._file_system, path, base_offset)
        if fault is None:
            self._ends[base_offset] = end_offset
            return
        source = file_names.segment_file(base_offset, file_names.LOG)
        if source not in self._names:
            raise DataDirectoryError(self._refusal(path, fault, base_offset))
        self._undo([name for name in self._swaps if _base_offset(name) == base_offset])
        kept_in = f"{path}{file_names.CORRUPTED}{wall_ms}"
        self._undone[swap] = kept_in
        remedy = f"was kept in {kept_in}; the segments that it was to replace are used, nothing is lost"
        self.damages.append(Damage(path, fault, remedy))

    def _refusal(self, path: str, fault: str, base_offset: Offset) -> str:
        discarded = [
            name
            for name in self._names
            if name.endswith(file_names.LOG + file_names.DELETED) and _base_offset(name) >= base_offset
        ]
        where = f" (of what it replaced, there is still {some_of(discarded)})" if discarded else ""
        return (
            f"{path} is damaged ({fault}): it is the result of a compaction that was interrupted, and what it"
            f" replaces is not in its place any more{where}; nothing was changed. Put the files of"
            f" {self._directory} back from a backup, or move that directory out of the log directory: the"
            " partition is then fetched from its other replicas, or begins empty if it has none"
        )


def _end_of(file_system: FileSystem, path: str, base_offset: Offset) -> tuple[Offset, str | None]:
    """Returns the offset behind the last batch that holds, and what is wrong with the next one, if any."""
    file = file_system.file(path)
    end_offset, position = base_offset, 0
    try:
        for at, header, batch in walk_batches(file, 0, file.size_bytes()):
            position = at
            check_crc(batch, header)
            if header.base_offset < end_offset or header.last_offset < header.base_offset:
                return end_offset, f"at byte {at}: offset {header.base_offset} is out of order"
            end_offset, position = header.next_offset, at + header.size_bytes
    except CorruptRecord as damage:
        return end_offset, f"at byte {position}: {str(damage).removeprefix(f'{path}: ')}"
    finally:
        file.close()
    return max(end_offset, base_offset + 1), None


def _base_offset(name: str) -> Offset:
    return int(name.partition(".")[0])
