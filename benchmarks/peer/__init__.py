"""Brokers as processes, Apache Kafka's and ours, for the benchmarks and `compat` alike."""

from benchmarks.peer.jars import JarsMissing, class_path
from benchmarks.peer.kafka import KafkaBroker
from benchmarks.peer.odradek import OdradekBroker
from benchmarks.peer.process import BrokerFailed, BrokerProcess
from benchmarks.peer.tools import KafkaTools, ToolFailed

BROKERS: dict[str, type[BrokerProcess]] = {"kafka": KafkaBroker, "odradek": OdradekBroker}

__all__ = [
    "BROKERS",
    "BrokerFailed",
    "BrokerProcess",
    "JarsMissing",
    "KafkaBroker",
    "KafkaTools",
    "OdradekBroker",
    "ToolFailed",
    "class_path",
]
