"""Runs brokers, Apache Kafka's and ours, as processes, and Kafka's tools, for `benchmarks`, `compat` and
`campaigns`."""

from peers.jars import JarsMissing, class_path
from peers.kafka import Kafka41Broker, KafkaBroker
from peers.kafka_cluster import KafkaCluster
from peers.odradek import OdradekBroker
from peers.odradek_cluster import OdradekCluster
from peers.process import BrokerFailed, BrokerProcess
from peers.tools import KafkaTools, ToolFailed

BROKERS: dict[str, type[BrokerProcess]] = {
    kind.name: kind for kind in (OdradekBroker, KafkaBroker, Kafka41Broker)
}
DEFAULT_BROKERS = (OdradekBroker.name, KafkaBroker.name)
"""Those that are run where none is asked for: the older release is a lane of its own."""
CLUSTERS: dict[str, type[BrokerProcess]] = {kind.name: kind for kind in (OdradekCluster, KafkaCluster)}
"""Three brokers of each kind."""


__all__ = [
    "BROKERS",
    "CLUSTERS",
    "DEFAULT_BROKERS",
    "BrokerFailed",
    "BrokerProcess",
    "JarsMissing",
    "KafkaBroker",
    "KafkaCluster",
    "KafkaTools",
    "OdradekBroker",
    "OdradekCluster",
    "ToolFailed",
    "class_path",
]
