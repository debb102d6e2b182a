"""Consumers that take part in groups, by the name of their library."""

from collections.abc import Mapping

from compat.clients import Client
from compat.clients.program import ProgramClient
from compat.members.aiokafka import AiokafkaMember
from compat.members.confluent import ConfluentMember
from compat.members.kafka_python import KafkaPythonMember
from compat.members.model import COOPERATIVE_STICKY, RANGE, Member, Membership, poll_until
from compat.members.program import ProgramMember

IN_PYTHON: dict[str, type[Member]] = {
    "confluent-kafka": ConfluentMember,
    "kafka-python": KafkaPythonMember,
    "aiokafka": AiokafkaMember,
}
# The programs that know what compat/members/program.py asks.
PROGRAMS = ("java", "franz-go", "sarama", "kafka-go", "kafkajs")
LIBRARIES = (*IN_PYTHON, *PROGRAMS)
# The others assign by range: KafkaJS has an assignor of its own only, and so shares no group with them.
RANGE_LIBRARIES = tuple(name for name in LIBRARIES if name != "kafkajs")
# The others lack the cooperative protocol (KIP-429) and static members (KIP-345).
COOPERATIVE_LIBRARIES = ("confluent-kafka", "java", "franz-go", "sarama")
# The others know the classic protocol only.
NEW_PROTOCOL_LIBRARIES = ("confluent-kafka", "java", "franz-go")


def join(library: str, clients: Mapping[str, Client], bootstrap: str, membership: Membership) -> Member:
    """A new member of a group; `clients` are the running ones, by name."""
    if library in IN_PYTHON:
        return IN_PYTHON[library](bootstrap, membership)
    program = clients[library]
    assert isinstance(program, ProgramClient)
    return ProgramMember(program, membership)


__all__ = [
    "COOPERATIVE_LIBRARIES",
    "COOPERATIVE_STICKY",
    "LIBRARIES",
    "NEW_PROTOCOL_LIBRARIES",
    "RANGE",
    "RANGE_LIBRARIES",
    "Member",
    "Membership",
    "join",
    "poll_until",
]
