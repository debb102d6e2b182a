"""Settings of other clients are refused with what to do instead, by every name that they have."""

import inspect
import warnings
from typing import Any

import pytest

from odradek.base.errors import SettingError
from odradek.client.other_settings import NAMES, said_of
from odradek.client.protection import NAMES as PROTECTION_NAMES
from odradek.client.settings import TABLE, Client, read_settings

OURS = {setting.name for setting in TABLE} | set(PROTECTION_NAMES)


def refusal(client: Client, name: str) -> str:
    """Why a setting is refused; "" if it is not."""
    try:
        read_settings(client, {name: "x"})
    except SettingError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", NAMES)
def test_each_is_no_setting_of_ours_and_says_what_to_do(name: str) -> None:
    assert name not in OURS
    for client in Client:
        for written in (name, name.replace(".", "_")):
            assert refusal(client, written) == said_of(name, written)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("message.timeout.ms", "message.timeout.ms is called delivery.timeout.ms here"),
        ("rebalance_timeout_ms", "rebalance_timeout_ms is called max.poll.interval.ms here"),
        ("ssl_cafile", "ssl_cafile is called ssl.truststore.location, with ssl.truststore.type=PEM here"),
        ("loop", "loop has no effect here: a client belongs to the loop that runs when it is made or"),
        ("ssl_context", "ssl_context has no effect here: pass it as the argument ssl_context"),
    ],
)
def test_the_sentence(name: str, said: str) -> None:
    assert refusal(Client.CONSUMER, name).startswith(said)


def _of_kafka_python(client: Client) -> set[str]:
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer

    known = {
        Client.CONSUMER: KafkaConsumer,
        Client.PRODUCER: KafkaProducer,
        Client.ADMIN: KafkaAdminClient,
    }
    return set(known[client].DEFAULT_CONFIG)


def _of_aiokafka(client: Client) -> set[str]:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
    from aiokafka.admin import AIOKafkaAdminClient

    known: dict[Client, Any] = {
        Client.CONSUMER: AIOKafkaConsumer,
        Client.PRODUCER: AIOKafkaProducer,
        Client.ADMIN: AIOKafkaAdminClient,
    }
    return set(inspect.signature(known[client].__init__).parameters) - {"self", "topics"}


@pytest.mark.parametrize("client", list(Client))
@pytest.mark.parametrize("theirs", [_of_kafka_python, _of_aiokafka])
def test_no_setting_of_the_python_libraries_is_unknown(theirs: Any, client: Client) -> None:
    with warnings.catch_warnings(action="ignore"):
        names = theirs(client)
    assert len(names) > 10
    assert [name for name in names if "is not a setting" in refusal(client, name)] == []
