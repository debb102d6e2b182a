"""Loads the segments of a partition's directory, after finishing or removing what a stop interrupted.

.deleted                 removed without waiting for its delay
.cleaned, .tmp           incomplete: removed
.swap                    a compaction complete except for its renames: `interrupted_swaps`
index without its log    useless: removed, and reported
log without an index     the index is rebuilt from the log
"""

from dataclasses import dataclass, field

from odradek.base.ids import Offset, TopicPartition
from odradek.storage import file_names
from odradek.storage.checkpoint import Damage
from odradek.storage.files import FileSystem
from odradek.storage.finding import Finding, FindingKind
from odradek.storage.interrupted_swaps import InterruptedSwaps
from odradek.storage.segments import Segments


@dataclass(slots=True)
class Cut:
    """The end of a segment, cut off by recovery because its first batch is torn or corrupt."""

    path: str
    position: int
    """The byte at which the whole batches end."""
    size_bytes: int
    """The number of bytes cut off."""
    reason: str
    kept_in: str | None
    """The file that keeps the bytes cut off; None if they were all zeros."""

    def __str__(self) -> str:
        kept = f"kept in {self.kept_in}" if self.kept_in else "all of them zeros"
        return f"{self.path} was cut at byte {self.position} ({self.reason}): {self.size_bytes} bytes, {kept}"


@dataclass(slots=True)
class LogRecovery:
    """The result of opening one log: what was found and repaired (L4)."""

    topic_partition: TopicPartition
    clean: bool
    """Whether the last stop was clean, so that nothing had to be verified."""
    segments_verified: int = 0
    bytes_verified: int = 0
    records_lost_from: Offset | None = None
    """The log's end offset after a cut; None if nothing was cut."""
    lost_up_to: Offset | None = None
    """The offset that the log had reached, if it now ends below it; None if no loss is known."""
    cuts: list[Cut] = field(default_factory=list)
    rebuilt_indexes: list[str] = field(default_factory=list)
    """One sentence for each segment whose indexes were missing or damaged."""
    damages: list[Damage] = field(default_factory=list)
    start_taken_from_epochs: Offset | None = None
    """The log start, if only the leader epochs had it."""

    def is_uneventful(self) -> bool:
        """Whether nothing was lost, repaired or ignored, and the files agree where the log begins."""
        is_whole = self.lost_up_to is None and self.start_taken_from_epochs is None
        return is_whole and not (self.cuts or self.rebuilt_indexes or self.damages)

    def findings(self) -> list[Finding]:
        """One finding for each problem."""
        found = [Finding(FindingKind.LOG_CUT, str(cut)) for cut in self.cuts]
        found += [Finding(FindingKind.FILE_DAMAGED, str(damage)) for damage in self.damages]
        found += [Finding(FindingKind.INDEX_REBUILT, sentence) for sentence in self.rebuilt_indexes]
        if self.start_taken_from_epochs is not None:
            sentence = (
                f"{self.topic_partition} begins at offset {self.start_taken_from_epochs}, as its leader "
                "epochs do; log-start-offset-checkpoint is written once a minute and does not have that yet"
            )
            found.append(Finding(FindingKind.LOG_START_TAKEN, sentence))
        if self.lost_up_to is not None:
            sentence = (
                f"{self.topic_partition} ends at offset {self.records_lost_from} and had reached offset "
                f"{self.lost_up_to}: the records between are lost, the next one gets offset {self.lost_up_to}"
            )
            found.append(Finding(FindingKind.RECORDS_LOST, sentence))
        return found

    def lines(self) -> list[str]:
        """The sentences of `findings`."""
        return [finding.sentence for finding in self.findings()]


def clear_leftovers(file_system: FileSystem, directory: str, wall_ms: int) -> tuple[bool, list[Damage]]:
    """Finish or remove what an earlier stop interrupted.

    Returns whether a compaction was finished, and the damaged results of one that was undone. Raises
    DataDirectoryError, with nothing changed, if a damaged result can neither be used nor undone.
    """
    swaps = InterruptedSwaps(file_system, directory, wall_ms)
    for name, _ in file_system.list_directory(directory):
        if name.endswith((file_names.DELETED, file_names.CLEANED, file_names.TEMPORARY)):
            file_system.remove(f"{directory}/{name}")
    return swaps.settle(), swaps.damages


def load_segments(segments: Segments, file_system: FileSystem, now_ms: int) -> list[Damage]:
    """Add every segment in the directory; removes index files without a log, and returns them."""
    directory = segments.directory
    sizes = dict(file_system.list_directory(directory))
    strays = []
    for name, size_bytes in sizes.items():
        found = file_names.offset_and_suffix(name)
        if found is None or size_bytes < 0:
            continue
        base_offset, suffix = found
        if suffix == file_names.LOG:
            segments.add_existing(base_offset, size_bytes, now_ms)
        elif _is_segment_part(suffix) and file_names.segment_file(base_offset, file_names.LOG) not in sizes:
            file_system.remove(f"{directory}/{name}")
            strays.append(Damage(f"{directory}/{name}", "its segment has no .log file", "was removed"))
    return strays


def _is_segment_part(suffix: str) -> bool:
    return suffix in file_names.SEGMENT_SUFFIXES
