"""What a batch costs from a producer's bytes to the log's own, by level of validation, size and codec.

    .venv/bin/python benchmarks/micro/records.py [--json] [--repeat 7]

Microseconds of CPU per batch, best of `--repeat` rounds. `crc` is the CRC-32C alone, which is always
needed; `header` and `full` are `validate` and `assign_offsets`, with one copy of the buffer; `walk`
is the part of `full` that checks uncompressed records; `records` makes a `Record` of each; `aiokafka` reads
the batch with aiokafka's compiled classes, the only compiled reader among our dependencies.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from aiokafka.record._crecords.default_records import DefaultRecordBatch as AiokafkaBatch

from odradek.base.chance import SeededChance
from odradek.records.builder import BatchBuilder
from odradek.records.compression import Codec
from odradek.records.framing import body_of, iter_body
from odradek.records.header import computed_crc, read_header
from odradek.records.offsets import assign_offsets
from odradek.records.record_check import check_records
from odradek.records.validation import ValidationRules, validate

NOW_MS = 1_700_000_000_000
ROUND_S = 0.05
HEADER_RULES = ValidationRules()
FULL_RULES = ValidationRules(walks_records=True)


@dataclass(frozen=True)
class Figure:
    """Microseconds per batch of `records` records."""

    batch_bytes: int
    records: int
    codec: str
    crc_us: float
    header_us: float
    full_us: float
    walk_us: float
    records_us: float
    aiokafka_us: float


def build(batch_bytes: int, value_bytes: int, codec: Codec) -> bytearray:
    """A batch of about `batch_bytes` uncompressed: keys of 8 bytes, values half text, half noise."""
    chance = SeededChance(7)
    builder = BatchBuilder(codec=codec)
    while builder.size_bytes < batch_bytes:
        length = value_bytes - chance.below(value_bytes // 5)
        noise = bytes(chance.below(256) for _ in range(length // 2))
        builder.append(
            NOW_MS + builder.record_count // 3,
            b"%08d" % chance.below(10**8),
            noise + b"carrier=UA origin=EWR " * (length // 44),
        )
    return builder.build()


def microseconds(call: Callable[[], object], rounds: int) -> float:
    """The least time that one call took on average over a round."""
    calls, best = 1, float("inf")
    while rounds:
        started = time.process_time()
        for _ in range(calls):
            call()
        elapsed = time.process_time() - started
        if elapsed < ROUND_S / 2:
            calls *= 2
            continue
        best = min(best, elapsed / calls)
        rounds -= 1
    return best * 1e6


def measure(batch_bytes: int, value_bytes: int, codec: Codec, rounds: int) -> Figure:
    """All figures of one kind of batch."""
    batch = build(batch_bytes, value_bytes, codec)
    as_sent = bytes(batch)
    header = read_header(batch)
    body = body_of(batch, header)

    def append(rules: ValidationRules) -> None:
        assign_offsets(validate(bytearray(as_sent), rules, NOW_MS), 0, 5)

    return Figure(
        batch_bytes=len(batch),
        records=header.record_count,
        codec=codec.name.lower(),
        crc_us=microseconds(lambda: computed_crc(batch, header), rounds),
        header_us=microseconds(lambda: append(HEADER_RULES), rounds),
        full_us=microseconds(lambda: append(FULL_RULES), rounds),
        walk_us=microseconds(lambda: check_records(body, header.record_count), rounds),
        records_us=microseconds(lambda: list(iter_body(body, header)), rounds),
        aiokafka_us=microseconds(lambda: list(AiokafkaBatch(as_sent)), rounds),
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--repeat", type=int, default=7)
    arguments = parser.parse_args()
    kinds = [(64 << 10, 1000, Codec.NONE), (64 << 10, 100, Codec.NONE), (16 << 10, 100, Codec.NONE)]
    kinds += [(64 << 10, 1000, codec) for codec in Codec if codec]
    figures = [measure(*kind, arguments.repeat) for kind in kinds]
    if arguments.json:
        json.dump([asdict(figure) for figure in figures], sys.stdout, indent=2)
        print()
        return
    print("   bytes  records  codec      crc   header     full     walk  records  aiokafka   us per batch")
    for one in figures:
        print(
            f"{one.batch_bytes:8} {one.records:8}  {one.codec:7}{one.crc_us:7.1f}{one.header_us:9.1f}"
            f"{one.full_us:9.1f}{one.walk_us:9.1f}{one.records_us:9.1f}{one.aiokafka_us:10.1f}"
        )


if __name__ == "__main__":
    main()
