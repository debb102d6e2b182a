"""All scenarios, in the order in which they are run on a broker."""

from benchmarks.macro.connections import Connections
from benchmarks.macro.latency import LoneProduce, RoundTrip
from benchmarks.macro.producing import LargeBatches, LargeBatchesAcksAll, SmallRecords
from benchmarks.macro.reading import BareRead, ClientRead
from benchmarks.macro.scenario import Scenario
from benchmarks.macro.start_up import StartUp

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
    )
}
