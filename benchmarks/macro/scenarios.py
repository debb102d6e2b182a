"""All scenarios, in the order in which they are run on a broker, and on three."""

from benchmarks.macro.catching_up import CatchUp
from benchmarks.macro.cleaning import CleaningLargeRecords, CleaningSmallRecords
from benchmarks.macro.commits import Commits
from benchmarks.macro.connections import Connections
from benchmarks.macro.failing_over import ControllerKilled, HandOver, LeaderKilled
from benchmarks.macro.first_record import (
    FirstRecordAiokafka,
    FirstRecordConfluent,
    FirstRecordConfluentNew,
    FirstRecordJava,
    FirstRecordJavaNew,
    FirstRecordKafkaPython,
)
from benchmarks.macro.latency import LoneProduce, RoundTrip
from benchmarks.macro.loading_offsets import LoadOffsets
from benchmarks.macro.many_partitions import ManyPartitions
from benchmarks.macro.producing import LargeBatches, LargeBatchesAcksAll, SmallRecords
from benchmarks.macro.reading import BareRead, ClientRead
from benchmarks.macro.rebalance import Rebalance
from benchmarks.macro.replicated import (
    ClusterStartUp,
    ReplicatedLargeBatches,
    ReplicatedLoneProduce,
    ReplicatedSmallRecords,
)
from benchmarks.macro.scenario import Scenario
from benchmarks.macro.start_up import StartUp
from benchmarks.macro.transactions import TransactionsConfluent, TransactionsJava
from benchmarks.macro.unread import UnreadFetches

SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        StartUp(),
        LargeBatches(),
        LargeBatchesAcksAll(),
        SmallRecords(),
        LoneProduce(),
        RoundTrip(),
        ClientRead(),
        BareRead(),
        Connections(),
        UnreadFetches(),
        FirstRecordConfluent(),
        FirstRecordConfluentNew(),
        FirstRecordAiokafka(),
        FirstRecordKafkaPython(),
        FirstRecordJava(),
        FirstRecordJavaNew(),
        Rebalance(),
        Commits(),
        LoadOffsets(),
        TransactionsConfluent(),
        TransactionsJava(),
        CleaningLargeRecords(),
        CleaningSmallRecords(),
    )
}

CLUSTER_SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        ClusterStartUp(),
        ReplicatedLargeBatches(),
        ReplicatedSmallRecords(),
        ReplicatedLoneProduce(),
        CatchUp(),
        LeaderKilled(),
        ControllerKilled(),
        HandOver(),
        ManyPartitions(),
    )
}
