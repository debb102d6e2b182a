"""The clients under test, by name."""

from compat.clients.aiokafka import AiokafkaClient
from compat.clients.confluent import ConfluentClient
from compat.clients.go import FranzGoClient, KafkaGoClient, SaramaClient
from compat.clients.java import JavaClient
from compat.clients.javascript import KafkaJsClient
from compat.clients.kafka_python import KafkaPythonClient
from compat.clients.kcat import KcatClient
from compat.clients.model import CODECS, Ability, Client, Record, Refused

CLIENTS: dict[str, type[Client]] = {
    client.name: client
    for client in (
        ConfluentClient,
        KafkaPythonClient,
        AiokafkaClient,
        KcatClient,
        JavaClient,
        FranzGoClient,
        SaramaClient,
        KafkaGoClient,
        KafkaJsClient,
    )
}

__all__ = ["CLIENTS", "CODECS", "Ability", "Client", "Record", "Refused"]
