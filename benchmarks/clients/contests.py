"""What is measured: jobs that some clients do in turn, and how ours are to compare.

The goals are those of the project: ours against another one in the same round, or a figure by itself.
"""

from dataclasses import dataclass

from benchmarks.macro.scenario import GOAL_TOLERANCE, Better, Figure

BLOCKING, AIO = "odradek", "odradek.aio"
AIOKAFKA, KAFKA_PYTHON, CONFLUENT = "aiokafka", "kafka-python", "confluent-kafka"
SOURCE, CONNECTOR = "odradek's source", "Spark's connector"
PIPELINE = "odradek pipeline"
MODULES = {
    BLOCKING: "with_odradek",
    AIO: "with_odradek_aio",
    AIOKAFKA: "with_aiokafka",
    KAFKA_PYTHON: "with_kafka_python",
    CONFLUENT: "with_confluent",
    SOURCE: "with_spark",
    CONNECTOR: "with_spark",
    PIPELINE: "with_spark",
}
"""The module of each client."""

SPEED = Figure("records", "1/s", Better.HIGHER)
CPU = Figure("CPU", "s per million", Better.LOWER)
MEMORY = Figure("memory", "MB", Better.LOWER)
P50, P99 = Figure("p50", "ms", Better.LOWER), Figure("p99", "ms", Better.LOWER)
SHARE = Figure("share", "of the time", Better.HIGHER)
IDLE = Figure("CPU", "% of a core", Better.LOWER)


@dataclass(frozen=True, slots=True)
class Goal:
    """The first figure of a client, over that of another one in the same round; or by itself."""

    client: str
    bound: float
    rival: str | None = None

    def is_met(self, figure: Figure, value: float) -> bool:
        """Whether a value, or a ratio, reaches the goal within the tolerance."""
        if figure.better is Better.HIGHER:
            return value >= self.bound * (1 - GOAL_TOLERANCE)
        return value <= self.bound * (1 + GOAL_TOLERANCE)


@dataclass(frozen=True, slots=True)
class Contest:
    """One job, and the function that each client does it by."""

    name: str
    title: str
    entrants: dict[str, str]
    figures: tuple[Figure, ...]
    records: int
    goals: tuple[Goal, ...] = ()
    record_bytes: int = 0
    codec: str = "none"
    partitions: int = 1
    is_filled: bool = False
    """Whether the topic has the records when the first client begins; else each gets an empty topic."""


SIZES = {"100b": (100, 500_000), "1k": (1024, 200_000)}
"""The bytes of a record, and how many of them."""
CODECS = ("none", "lz4", "zstd")
READERS = dict.fromkeys((AIO, BLOCKING, AIOKAFKA, KAFKA_PYTHON, CONFLUENT), "read")
WRITERS = dict.fromkeys((AIO, BLOCKING, AIOKAFKA, KAFKA_PYTHON, CONFLUENT), "write")


def _sized(verb: str, size: str, codec: str) -> tuple[str, str]:
    """The name and the title of a contest with records of a size."""
    record_bytes = SIZES[size][0]
    return (
        f"{verb}-{size}-{codec}",
        f"records of {record_bytes} B, {codec if codec != 'none' else 'no codec'}",
    )


def _reading(size: str, codec: str) -> Contest:
    name, title = _sized("read", size, codec)
    record_bytes, records = SIZES[size]
    goals = (Goal(AIO, 1.2, AIOKAFKA), Goal(BLOCKING, 3.0, KAFKA_PYTHON))
    figures = (SPEED, CPU, MEMORY)
    return Contest(
        name, f"Reading {title}", READERS, figures, records, goals, record_bytes, codec, is_filled=True
    )


def _reading_columns(size: str, codec: str) -> Contest:
    name, title = _sized("columns", size, codec)
    record_bytes, records = SIZES[size]
    entrants = {BLOCKING: "read_columns", CONFLUENT: "read"}
    goals = (Goal(BLOCKING, 3.0, CONFLUENT),)
    figures = (SPEED, CPU, MEMORY)
    return Contest(
        name,
        f"Reading {title}: `poll_batch` and `consume`",
        entrants,
        figures,
        records,
        goals,
        record_bytes,
        codec,
        is_filled=True,
    )


def _writing(size: str, codec: str) -> Contest:
    name, title = _sized("write", size, codec)
    record_bytes, records = SIZES[size]
    goals = (Goal(AIO, 1.2, AIOKAFKA),)
    return Contest(
        name, f"Writing {title}", WRITERS, (SPEED, CPU, MEMORY), records // 2, goals, record_bytes, codec
    )


def _writing_tables(size: str, codec: str) -> Contest:
    name, title = _sized("tables", size, codec)
    record_bytes, records = SIZES[size]
    entrants = {BLOCKING: "write_table", CONFLUENT: "write"}
    return Contest(
        name,
        f"Writing {title}: `produce_batch` and `produce`",
        entrants,
        (SPEED, CPU, MEMORY),
        records,
        (Goal(BLOCKING, 1.0, CONFLUENT),),
        record_bytes,
        codec,
    )


def _in_spark(name: str, title: str, ours: tuple[str, str], theirs: str, bound: float, codec: str) -> Contest:
    """Ours, a client and what it does, beside Spark's own connector."""
    client, work = ours
    return Contest(
        name,
        f"Spark: {title}",
        {client: work, CONNECTOR: theirs},
        (SPEED,),
        2_000_000,
        (Goal(client, bound, CONNECTOR),),
        100,
        codec,
        partitions=4,
        is_filled=True,
    )


_SPARK = (
    *(
        _in_spark(
            f"spark-rows-{codec}",
            f"all columns of 2,000,000 records of 100 B, {codec if codec != 'none' else 'no codec'}",
            (SOURCE, "source_rows"),
            "connector_rows",
            1.5,
            codec,
        )
        for codec in CODECS
    ),
    _in_spark(
        "spark-sums",
        "count and sum of offsets of each partition, 2,000,000 records of 100 B, lz4",
        (SOURCE, "source_sums"),
        "connector_sums",
        2.0,
        "lz4",
    ),
    _in_spark(
        "spark-json",
        "2,000,000 JSON objects of 100 B, lz4, as columns in Parquet",
        (PIPELINE, "pipeline_to_parquet"),
        "connector_to_parquet",
        1.5,
        "lz4",
    ),
)

_ALL = (
    *(make(size, codec) for make in (_reading, _reading_columns) for size in SIZES for codec in CODECS),
    *(make(size, codec) for make in (_writing, _writing_tables) for size in SIZES for codec in CODECS),
    Contest(
        "round-trip",
        "One record at a time: written, acknowledged, read; acks=all, linger 0",
        dict.fromkeys((AIO, BLOCKING, AIOKAFKA, CONFLUENT), "round_trips"),
        (P50, P99, MEMORY),
        2_000,
        (Goal(AIO, 1.2, CONFLUENT), Goal(BLOCKING, 1.5, CONFLUENT)),
    ),
    Contest(
        "prefetch",
        "10 ms of work for each 500 records of 1 KB: the share of the work",
        {BLOCKING: "work_on_records"},
        (SHARE, MEMORY),
        200_000,
        (Goal(BLOCKING, 0.95),),
        1024,
        is_filled=True,
    ),
    Contest(
        "idle",
        "1,000 partitions assigned, of which nothing comes",
        dict.fromkeys((AIO, BLOCKING, AIOKAFKA, CONFLUENT), "rest"),
        (IDLE, MEMORY),
        0,
        partitions=1_000,
        is_filled=True,
    ),
    *_SPARK,
)
CONTESTS = {contest.name: contest for contest in _ALL}
