"""Three brokers, three replicas, acks=all, `min.insync.replicas=2`: what one broker is measured by."""

from benchmarks.macro.latency import CPU_PER_RECORD, LoneProduce
from benchmarks.macro.producing import LargeBatchesAcksAll, SmallRecords
from benchmarks.macro.scenario import Better, Figure
from benchmarks.macro.start_up import StartUp


class ClusterStartUp(StartUp):
    """Three brokers on empty directories, until the last one answers; CPU and memory are of all of them."""

    name = "cluster-start-up"
    title = "Three brokers: starting, and doing nothing"
    figures = (
        Figure("all answer", "ms", Better.LOWER, goal=1_500),
        Figure("idle memory", "MB", Better.LOWER, goal=250),
        Figure("idle CPU", "% of a core", Better.LOWER, goal=1),
    )


class ReplicatedLargeBatches(LargeBatchesAcksAll):
    """1 KB records in batches of 64 KB, one producer, one partition."""

    name = "cluster-produce-1k"
    title = "Three brokers: ProducerPerformance, 1 KB records, 64 KB batches, acks=all"
    figures = (
        Figure("throughput", "MB/s", Better.HIGHER, ratio_goal=1.0),
        Figure("broker CPU", "s/GB", Better.LOWER, ratio_goal=0.6),
    )


class ReplicatedSmallRecords(SmallRecords):
    """100-byte records in the batches that Kafka's defaults make."""

    name = "cluster-produce-100b"
    title = "Three brokers: ProducerPerformance, 100 B records, default batching, acks=all"


class ReplicatedLoneProduce(LoneProduce):
    """One record at a time; the answer waits for both followers."""

    name = "cluster-lone-produce"
    title = "Three brokers: a lone produce, acks=all, confluent-kafka, linger 0"
    figures = (
        Figure("p50", "ms", Better.LOWER, ratio_goal=0.9),
        Figure("p99", "ms", Better.LOWER, ratio_goal=0.8),
        CPU_PER_RECORD,
    )
