"""A copy of a log becomes that log, in another log directory (KIP-113).

The copy has the same batches, byte for byte. What they do not tell is taken over from the log itself:

    producers           also those whose batches retention or DeleteRecords has removed since
    leader epochs       also those that began here without a record
    offsets             HW, LSO, log start, how far compaction has cleaned

Both logs share producers and epochs from then on, so the log that was replaced must not be written to
again. The copy begins a segment, whose snapshot holds the producers: a start after a crash finds all of
them.
"""

from odradek.storage.log_parts import LogParts
from odradek.storage.producer_replay import write_snapshot
from odradek.storage.rolling import roll


def succeed(parts: LogParts, log: LogParts) -> None:
    """Make the log of `parts`, a complete copy, the same as `log`. Raises OSError."""
    named, offsets, end = parts.topic_partition, parts.offsets, log.offsets.end
    assert offsets.end == end, f"{named}: the copy ends at {offsets.end}, the log at {end}"
    assert offsets.log_start <= log.offsets.log_start, f"{named}: the copy starts at {offsets.log_start}"
    assert not parts.flushes.is_cut, f"{named}: a truncation of the copy is not on disk"
    assert not log.flushes.is_cut, f"{named}: a truncation of the log is not on disk"
    parts.producers, parts.epochs = log.producers, log.epochs
    parts.save_epochs()
    if parts.segments.active.size_bytes:
        roll(parts)
    else:
        place, directory = parts.place, parts.segments.directory
        write_snapshot(parts.producers, place.file_system, directory, end, durable=False)
        parts.flushes.names_made += 1
    log_start, high_watermark = log.offsets.log_start, parts.locate(log.offsets.high_watermark.offset)
    offsets.stand_at(high_watermark, parts.last_stable_below(high_watermark, log_start))
    offsets.start_at(log_start, offsets.last_stable)
    offsets.mark_cleaned(log.offsets.cleaned)
