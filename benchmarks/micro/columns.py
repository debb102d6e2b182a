"""What it costs to make Arrow columns of the record batches of a fetch answer, on one core.

    .venv/bin/python benchmarks/micro/columns.py [--json] [--repeat 7]

Million records and megabytes for each second of CPU, best of `--repeat` rounds, for an answer of about 8 MB
with records of about 100 bytes (keys of 8), by records in a batch: many batches are decoded in lockstep,
fewer than 24 one by one. It is the whole way: headers, CRC, codec, columns, one `pyarrow.RecordBatch`.
`headers` puts one header into each record. `chase` is the search for the starts of the records alone.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from odradek.base.chance import SeededChance
from odradek.base.ids import TopicPartition
from odradek.records.builder import BatchBuilder
from odradek.records.columnar.record_sets import RecordSet, record_batches
from odradek.records.columnar.record_starts import record_starts
from odradek.records.columnar.varints import PADDING_BYTES, VarintBytes
from odradek.records.compression import Codec
from odradek.records.header import HEADER_BYTES

NOW_MS = 1_700_000_000_000
ANSWER_BYTES = 8 << 20
VALUE_BYTES = 83


@dataclass(frozen=True)
class Figure:
    """Of one kind of answer."""

    batches: int
    records_per_batch: int
    codec: str
    with_headers: bool
    records: int
    million_records_per_s: float
    megabytes_per_s: float
    chase_million_per_s: float | None


def build(per_batch: int, codec: Codec, *, with_headers: bool) -> tuple[bytes, int]:
    """An answer, and how many records it has."""
    chance = SeededChance(7)
    noise = bytes(chance.below(256) for _ in range(4096))
    records_each = 100 + 6 * with_headers
    batches = max(1, ANSWER_BYTES // (per_batch * records_each + HEADER_BYTES))
    answer, offset = bytearray(), 0
    for _ in range(batches):
        builder = BatchBuilder(base_offset=offset, codec=codec)
        for number in range(per_batch):
            at = chance.below(4000)
            value = (noise[at : at + 40] + b"carrier=UA origin=EWR " * 3)[:VALUE_BYTES]
            headers = ((b"id", b"1"),) if with_headers else ()
            builder.append(NOW_MS + number // 3, b"%08d" % (offset + number), value, headers)
        answer += builder.build()
        offset += per_batch
    return bytes(answer), offset


def seconds(call: Callable[[], object], rounds: int) -> float:
    """The least CPU time of one call."""
    best = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        call()
        best = min(best, time.process_time() - started)
    return best


def measure(per_batch: int, codec: Codec, with_headers: bool, rounds: int) -> Figure:
    """All figures of one kind of answer."""
    answer, records = build(per_batch, codec, with_headers=with_headers)

    def decode() -> None:
        one = RecordSet(TopicPartition("flights", 0), answer, 0, records)
        rows = sum(batch.num_rows for batch in record_batches([one], with_headers=with_headers))
        assert rows == records, f"{rows} of {records} records"

    taken = seconds(decode, rounds)
    chased = None
    headers = RecordSet(TopicPartition("flights", 0), answer, 0).headers
    if codec is Codec.NONE:
        data = VarintBytes(answer + bytes(PADDING_BYTES))
        starts, counts = headers.starts + HEADER_BYTES, headers["record_count"]
        assert len(record_starts(data, starts, headers.ends, counts)) == records
        chased = records / seconds(lambda: record_starts(data, starts, headers.ends, counts), rounds) / 1e6
    return Figure(
        batches=len(headers),
        records_per_batch=per_batch,
        codec=codec.name.lower(),
        with_headers=with_headers,
        records=records,
        million_records_per_s=records / taken / 1e6,
        megabytes_per_s=len(answer) / taken / 1e6,
        chase_million_per_s=chased,
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeat", type=int, default=7)
    arguments = parser.parse_args()
    kinds = [(count, Codec.NONE, False) for count in (10, 50, 140, 1000, 10_000)]
    kinds += [(140, Codec.NONE, True), (140, Codec.LZ4, False), (140, Codec.ZSTD, False)]
    figures = [measure(*kind, arguments.repeat) for kind in kinds]
    if arguments.json:
        json.dump([asdict(figure) for figure in figures], sys.stdout, indent=2)
        print()
        return
    print("batches  records/batch  codec  headers  M records/s  MB/s  chase, M/s")
    for one in figures:
        chase = "" if one.chase_million_per_s is None else f"{one.chase_million_per_s:.1f}"
        print(
            f"{one.batches:7} {one.records_per_batch:14}  {one.codec:5}"
            f"  {'yes' if one.with_headers else 'no':7}"
            f"{one.million_records_per_s:13.2f}{one.megabytes_per_s:6.0f}{chase:>12}"
        )


if __name__ == "__main__":
    main()
