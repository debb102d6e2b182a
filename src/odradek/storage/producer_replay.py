"""Keeps the producer state in step with the log's batches: at an append, a truncation, an opening.

snapshot 400 | batches 400-520 | LEO 521        load the snapshot, apply the batches behind it
"""

from collections.abc import Callable, Sequence

from odradek.base.buffers import Buffer
from odradek.base.errors import CorruptRecord, InvalidRecord
from odradek.base.ids import NO_PRODUCER_ID, Offset
from odradek.records.control import read_marker
from odradek.records.header import BatchHeader
from odradek.records.validation import ValidatedRecords
from odradek.storage import file_names
from odradek.storage.checkpoint import Damage
from odradek.storage.files import FileSystem
from odradek.storage.origin import Origin
from odradek.storage.producer_snapshot import parse_snapshot, render_snapshot
from odradek.storage.producer_state import ProducerStates, RememberedBatch
from odradek.storage.segment import Segment
from odradek.storage.segments import Segments
from odradek.storage.transaction_index import AbortedTransaction, TransactionIndex


def check_batches(
    producers: ProducerStates, records: ValidatedRecords, origin: Origin
) -> RememberedBatch | None:
    """Returns the earlier batch that the first batch repeats, or None.

    Raises the errors of `ProducerStates.check` and `check_marker` for batches that must not be appended.
    """
    position = 0
    for header in records.headers:
        if header.producer_id != NO_PRODUCER_ID:
            duplicate = producers.check(header, origin)
            if duplicate is not None:
                return duplicate
            marker = read_marker(records.data, position) if header.is_control else None
            if marker is not None:
                producers.check_marker(header, marker)
        position += header.size_bytes
    return None


def remember_batches(
    producers: ProducerStates, headers: Sequence[BatchHeader], data: Buffer, aborted: TransactionIndex
) -> None:
    """Apply batches that have just been written."""
    position = 0
    for header in headers:
        if header.producer_id != NO_PRODUCER_ID:
            batch = memoryview(data)[position : position + header.size_bytes]
            remember_batch(producers, header, batch, aborted)
        position += header.size_bytes


def remember_batch(
    producers: ProducerStates,
    header: BatchHeader,
    batch: Buffer,
    aborted: TransactionIndex | list[AbortedTransaction] | None,
) -> None:
    """Apply one batch of a producer; an abort goes to `aborted`, unless the index has it already (None)."""
    if not header.is_control:
        producers.apply(header)
        return
    try:
        marker = read_marker(batch)
    except InvalidRecord:
        return  # a control record that says nothing ends no transaction
    if marker is None:
        return
    transaction = producers.apply_marker(header, marker)
    if transaction is not None and aborted is not None:
        aborted.append(transaction)


def rebuild_producers(
    producers: ProducerStates, segments: Segments, file_system: FileSystem, end: Offset, now_ms: int
) -> list[Damage]:
    """Rebuild the state as of `end` from the latest snapshot at or before it, and the batches after that.

    Removes later and damaged snapshots; returns the damaged ones. Raises CorruptRecord if a needed batch is
    damaged.
    """
    damages = []
    start = segments.first.base_offset
    producers.clear()
    for snapshot in reversed(snapshot_offsets(file_system, segments.directory)):
        path = _path(segments.directory, snapshot)
        if snapshot > end:
            file_system.remove(path)
            continue
        try:
            producers.load(parse_snapshot(file_system.read(path)), now_ms)
        except CorruptRecord as damage:
            damages.append(Damage(path, str(damage)))
            file_system.remove(path)
            continue
        start = snapshot
        break
    if start < end:
        _replay(producers, segments, start, end)
    return damages


def aborted_in(
    segment: Segment,
    segments: Segments,
    file_system: FileSystem,
    expiration_ms: Callable[[], int],
    now_ms: int,
) -> list[AbortedTransaction]:
    """The aborted transactions whose markers lie in a segment, by the batches; CorruptRecord as above."""
    producers = ProducerStates(expiration_ms)
    start = segments.first.base_offset
    for snapshot in reversed(snapshot_offsets(file_system, segments.directory)):
        if snapshot <= segment.base_offset:
            try:
                producers.load(parse_snapshot(file_system.read(_path(segments.directory, snapshot))), now_ms)
            except CorruptRecord:
                continue
            start = snapshot
            break
    if start < segment.base_offset:
        _replay(producers, segments, start, segment.base_offset)
    aborted: list[AbortedTransaction] = []
    for at, header in segment.headers():
        if header.producer_id != NO_PRODUCER_ID:
            batch = segment.read(at, header.size_bytes) if header.is_control else b""
            remember_batch(producers, header, batch, aborted)
    return aborted


def write_snapshot(
    producers: ProducerStates, file_system: FileSystem, directory: str, offset: Offset, *, durable: bool
) -> None:
    """Write the state as of `offset`; without `durable` a power cut may leave a damaged file.

    A file that holds it already is left alone: most logs have nothing new at a stop, and some file systems
    take milliseconds to cut a file.
    """
    path, content = _path(directory, offset), render_snapshot(producers.entries())
    is_there = file_system.exists(path) and file_system.read(path) == content
    file = file_system.file(path, create=True)
    if not is_there:
        file.truncate(0)
        file.write_at(content, 0)
    if durable:
        file.sync()
    file.close()


def remove_stray_snapshots(segments: Segments, file_system: FileSystem, end: Offset) -> None:
    """Keep the snapshots at a segment's base offset, and the latest one up to `end`."""
    bases = {segment.base_offset for segment in segments}
    offsets = snapshot_offsets(file_system, segments.directory)
    latest = max((offset for offset in offsets if offset <= end), default=None)
    for offset in offsets:
        if offset != latest and (offset not in bases or offset > end):
            file_system.remove(_path(segments.directory, offset))


def snapshot_offsets(file_system: FileSystem, directory: str) -> list[Offset]:
    """The offsets of all producer snapshots of a log, in rising order."""
    found = [file_names.offset_of_snapshot(name) for name, _ in file_system.list_directory(directory)]
    return [offset for offset in found if offset is not None]


def _replay(producers: ProducerStates, segments: Segments, start: Offset, end: Offset) -> None:
    for segment in segments.from_offset(start):
        if segment.base_offset >= end:
            return  # not only done: what lies there may not have been verified yet
        position = segment.find(start)
        if position is None:
            continue
        for at, header in segment.headers(position):
            if header.base_offset >= end:
                return
            if header.producer_id != NO_PRODUCER_ID:
                batch = segment.read(at, header.size_bytes) if header.is_control else b""
                remember_batch(producers, header, batch, None)


def _path(directory: str, offset: Offset) -> str:
    return f"{directory}/{file_names.segment_file(offset, file_names.PRODUCER_SNAPSHOT)}"
