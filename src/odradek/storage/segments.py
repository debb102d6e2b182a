"""The segments of one log in the order of their offsets. At least one, the last of which is *active*: the
only one that is written to."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from odradek.base.ids import Offset
from odradek.base.settings import TopicConfig
from odradek.storage import file_names
from odradek.storage.files import FileSystem
from odradek.storage.positions import LogPosition
from odradek.storage.removals import Removals
from odradek.storage.segment import Segment


class Segments:
    """The list of segments, with the operations on several of them."""

    __slots__ = ("_bases", "_file_system", "_list", "_removals", "config", "directory", "repairs")

    def __init__(
        self,
        file_system: FileSystem,
        directory: str,
        config: TopicConfig,
        removals: Removals,
        repairs: list[str],
    ) -> None:
        self._file_system = file_system
        self._removals = removals
        self.repairs = repairs  # of indexes, one sentence each, until they are reported
        self.directory = directory
        self.config = config
        self._list: list[Segment] = []
        self._bases: list[Offset] = []  # of `_list`, for searching

    def __len__(self) -> int:
        return len(self._list)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._list)

    @property
    def active(self) -> Segment:
        """The last one."""
        return self._list[-1]

    @property
    def first(self) -> Segment:
        """The oldest one."""
        return self._list[0]

    @property
    def size_bytes(self) -> int:
        """Bytes of all batches."""
        return sum(segment.size_bytes for segment in self._list)

    def floor(self, offset: Offset) -> Segment | None:
        """The segment whose range holds `offset`; None below the first one."""
        number = bisect_right(self._bases, offset)
        return self._list[number - 1] if number else None

    def from_offset(self, offset: Offset) -> list[Segment]:
        """The segment whose range holds `offset` (or the first one) and all later ones."""
        return self._list[max(0, bisect_right(self._bases, offset) - 1) :]

    def up_to(self, offset: Offset) -> list[Segment]:
        """The segments that begin below `offset`."""
        return self._list[: bisect_left(self._bases, offset)]

    def locate(self, offset: Offset) -> LogPosition | None:
        """Where the batch begins that holds `offset`, or the next one that there is; None behind the last."""
        for segment in self.from_offset(offset):
            position = segment.find(offset)
            if position is not None:
                return LogPosition(offset, segment.base_offset, position)
        return None

    def after(self, segment: Segment) -> Segment | None:
        """The next one."""
        number = bisect_right(self._bases, segment.base_offset)
        return self._list[number] if number < len(self._list) else None

    def end_of(self, segment: Segment, log_end_offset: Offset) -> Offset:
        """Where a segment's range ends: at the next one's base, or at the end of the log."""
        following = self.after(segment)
        return log_end_offset if following is None else following.base_offset

    def closed_alike(self, extents: Sequence[tuple[Offset, int]]) -> list[Segment] | None:
        """The closed segments, neighbours, that have these base offsets and sizes; None when they do not."""
        number = bisect_left(self._bases, extents[0][0])
        found = self._list[number:-1][: len(extents)]
        alike = [(segment.base_offset, segment.size_bytes) for segment in found] == list(extents)
        return found if alike else None

    def add_new(self, base_offset: Offset, now_ms: int) -> Segment:
        """Create an empty segment after all others."""
        return self._add(base_offset, size_bytes=0, is_new=True, created_ms=now_ms)

    def add_existing(self, base_offset: Offset, size_bytes: int, now_ms: int) -> Segment:
        """Add a segment that is on disk, after all others."""
        return self._add(base_offset, size_bytes=size_bytes, is_new=False, created_ms=now_ms)

    def discard(self, segment: Segment) -> None:
        """Remove a segment: its files are renamed at once, and deleted after `file.delete.delay.ms`."""
        self.release(segment)
        self._discard_files(segment, (*file_names.SEGMENT_SUFFIXES, file_names.PRODUCER_SNAPSHOT))

    def replace(self, replaced: Sequence[Segment], size_bytes: int) -> None:
        """Put a segment that lies in `.cleaned` files, named by the first of `replaced`, in their place (L5).

        Once the last of its files is `.swap` recovery finishes what a crash interrupts; before, it undoes it.
        """
        first = replaced[0]
        swapped = []
        for suffix in file_names.SEGMENT_SUFFIXES:
            path = first.path(suffix)
            if self._file_system.exists(path + file_names.CLEANED):
                self._file_system.rename(path + file_names.CLEANED, path + file_names.SWAP)
                swapped.append(path)
        for segment in replaced:
            # What a snapshot says is true whatever was cleaned; those of no segment's base have no use.
            has_heir = segment is first
            suffixes = (*file_names.SEGMENT_SUFFIXES, file_names.PRODUCER_SNAPSHOT)
            self._discard_files(segment, file_names.SEGMENT_SUFFIXES if has_heir else suffixes)
        for path in swapped:
            self._file_system.rename(path + file_names.SWAP, path)
        number = self._bases.index(first.base_offset)
        for segment in replaced:
            self.release(segment)
        heir = self._segment(first.base_offset, size_bytes, is_new=False, created_ms=first.created_ms)
        self._list.insert(number, heir)
        self._bases.insert(number, heir.base_offset)

    def release(self, segment: Segment) -> None:
        """Take a segment out of the list; its files stay."""
        segment.close()
        number = self._bases.index(segment.base_offset)
        del self._list[number], self._bases[number]

    def move_to(self, directory: str) -> None:
        """Called when the directory was renamed: every segment uses the new name.

        What the indexes of the active segment hold in memory is lost, so nothing may be appended to it unless
        it is empty. No file is open then: nobody would close those of a deleted log.
        """
        self.directory = directory
        members, self._list, self._bases = self._list, [], []
        for segment in members:
            segment.close()
            size_bytes = segment.size_bytes
            moved = self._add(
                segment.base_offset,
                size_bytes=size_bytes,
                is_new=not size_bytes,
                created_ms=segment.created_ms,
            )
            moved.close()

    def close(self) -> None:
        """Close every file."""
        for segment in self._list:
            segment.close()

    def _add(self, base_offset: Offset, *, size_bytes: int, is_new: bool, created_ms: int) -> Segment:
        assert not self._bases or base_offset > self._bases[-1], f"segment {base_offset} is not the last"
        segment = self._segment(base_offset, size_bytes, is_new=is_new, created_ms=created_ms)
        self._list.append(segment)
        self._bases.append(base_offset)
        return segment

    def _segment(self, base_offset: Offset, size_bytes: int, *, is_new: bool, created_ms: int) -> Segment:
        return Segment(
            self._file_system,
            self.directory,
            base_offset,
            size_bytes=size_bytes,
            is_new=is_new,
            created_ms=created_ms,
            index_interval_bytes=self.config.index_interval_bytes,
            repairs=self.repairs,
        )

    def _discard_files(self, segment: Segment, suffixes: Sequence[str]) -> None:
        for suffix in suffixes:
            path = segment.path(suffix)
            if self._file_system.exists(path):
                self._file_system.rename(path, path + file_names.DELETED)
                self._removals.add(path + file_names.DELETED, self.config.file_delete_delay_ms)
