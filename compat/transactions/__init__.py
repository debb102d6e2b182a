"""Transactional producers, by the name of their library."""

from collections.abc import Mapping

from compat.clients import Client
from compat.clients.program import ProgramClient
from compat.transactions.confluent import ConfluentProducer
from compat.transactions.model import TransactionalProducer
from compat.transactions.odradek import OdradekProducer
from compat.transactions.program import ProgramProducer

LIBRARIES = ("confluent-kafka", "java", "odradek")


def start(
    library: str, clients: Mapping[str, Client], bootstrap: str, transactional_id: str
) -> TransactionalProducer:
    """A new producer of this transactional id, which fences those before it."""
    if library == "confluent-kafka":
        return ConfluentProducer(bootstrap, transactional_id)
    if library == "odradek":
        return OdradekProducer(bootstrap, transactional_id)
    program = clients[library]
    assert isinstance(program, ProgramClient)
    return ProgramProducer(program, transactional_id)


__all__ = ["LIBRARIES", "TransactionalProducer", "start"]
