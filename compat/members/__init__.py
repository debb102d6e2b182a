"""Consumers that take part in groups, by the name of their library."""

from collections.abc import Mapping

from compat.clients import Client
from compat.clients.program import ProgramClient
from compat.members.aiokafka import AiokafkaMember
from compat.members.confluent import ConfluentMember
from compat.members.kafka_python import KafkaPythonMember
from compat.members.model import COOPERATIVE_STICKY, RANGE, STICKY, Member, Membership, poll_until
from compat.members.odradek import OdradekMember
from compat.members.program import ProgramMember

IN_PYTHON: dict[str, type[Member]] = {
    "confluent-kafka": ConfluentMember,
    "kafka-python": KafkaPythonMember,
    "aiokafka": AiokafkaMember,
}
# The programs that implement the requests of compat/members/program.py.
PROGRAMS = ("java", "franz-go", "sarama", "kafka-go", "kafkajs")
LIBRARIES = (*IN_PYTHON, *PROGRAMS)
# KafkaJS has only a round-robin assignor of its own, so it shares no group with the others.
RANGE_LIBRARIES = tuple(name for name in LIBRARIES if name != "kafkajs")
# Those that rebalance cooperatively (KIP-429).
COOPERATIVE_LIBRARIES = ("confluent-kafka", "kafka-python", "java", "franz-go", "sarama")
# Those with Kafka's older sticky strategy, which gives everything back first (KIP-54).
STICKY_LIBRARIES = ("aiokafka", "kafka-python", "java")
# Those with static members (KIP-345).
STATIC_LIBRARIES = (*COOPERATIVE_LIBRARIES, "aiokafka")
# Those whose poll reports a fenced member. aiokafka's heartbeats do not carry the instance id, so it
# joins again and again; kafka-python just stops its heartbeats.
FENCED_LIBRARIES = ("confluent-kafka", "java", "franz-go", "sarama")
# Those with the new protocol (KIP-848).
NEW_PROTOCOL_LIBRARIES = ("confluent-kafka", "java", "franz-go")


def join(library: str, clients: Mapping[str, Client], bootstrap: str, membership: Membership) -> Member:
    """A new member of a group; `clients` are the running ones, by name."""
    if library in IN_PYTHON:
        return IN_PYTHON[library](bootstrap, membership)
    if library == "odradek":
        return OdradekMember(bootstrap, membership)
    program = clients[library]
    assert isinstance(program, ProgramClient)
    return ProgramMember(program, membership)


__all__ = [
    "COOPERATIVE_LIBRARIES",
    "COOPERATIVE_STICKY",
    "FENCED_LIBRARIES",
    "LIBRARIES",
    "NEW_PROTOCOL_LIBRARIES",
    "RANGE",
    "RANGE_LIBRARIES",
    "STATIC_LIBRARIES",
    "STICKY",
    "STICKY_LIBRARIES",
    "Member",
    "Membership",
    "join",
    "poll_until",
]
