from dataclasses import replace
from typing import Any

import pytest

from odradek.base.errors import SettingError
from odradek.base.settings import BrokerSettings
from odradek.server.edge.addresses import ListenerAddress, own_host, parse_listener, plan_listeners


def settings(**given: Any) -> BrokerSettings:
    return replace(BrokerSettings(), **given)


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("PLAINTEXT://127.0.0.1:9092", ListenerAddress("PLAINTEXT", "127.0.0.1", 9092)),
        (" plaintext://:0 ", ListenerAddress("PLAINTEXT", "", 0)),
        ("INSIDE://[::1]:7", ListenerAddress("INSIDE", "::1", 7)),
    ],
)
def test_listeners_are_written_as_in_kafka(text: str, parsed: ListenerAddress) -> None:
    assert parse_listener(text) == parsed


@pytest.mark.parametrize(
    "text", ["", "9092", "PLAINTEXT://host", "://h:1", "P://h:99999", "P://h:x", "P://h:²"]
)
def test_what_is_no_listener_is_said_in_a_sentence(text: str) -> None:
    with pytest.raises(SettingError, match="a listener is written NAME://host:port"):
        parse_listener(text)


@pytest.mark.parametrize(
    ("host", "is_wildcard", "shown"),
    [
        ("", True, "0.0.0.0:1"),
        ("0.0.0.0", True, "0.0.0.0:1"),
        ("::", True, "[::]:1"),
        ("0:0::0", True, "[0:0::0]:1"),
        ("::1", False, "[::1]:1"),
        ("kafka.example", False, "kafka.example:1"),
    ],
)
def test_an_address_of_all_interfaces_is_a_wildcard(host: str, is_wildcard: bool, shown: str) -> None:
    address = ListenerAddress("PLAINTEXT", host, 1)
    assert (address.is_wildcard, str(address)) == (is_wildcard, shown)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"advertised_listeners": ("PLAINTEXT://0.0.0.0:9092",)},
            "cannot hold 0.0.0.0: clients cannot connect",
        ),
        ({"advertised_listeners": ("PLAINTEXT://[::]:9092",)}, "cannot hold ::: clients cannot connect"),
        ({"advertised_listeners": ("INSIDE://h:1",)}, "names INSIDE, which listeners does not"),
        ({"advertised_listeners": ("PLAINTEXT://h:1", "PLAINTEXT://i:1")}, "names PLAINTEXT more than once"),
        ({"listeners": ("PLAINTEXT://h:1", "plaintext://i:1")}, "listeners names PLAINTEXT more than once"),
        ({"listeners": ()}, "there is no listener for clients: listeners is empty"),
        ({"listeners": ("SSL://h:1",)}, "uses SSL; only PLAINTEXT is supported yet"),
        ({"listeners": ("INSIDE://h:1",)}, "does not name the listener INSIDE"),
        (
            {"controller_listener_names": ("plaintext",)},
            "there is no listener for clients: controller.listener.names names all of listeners",
        ),
        (
            {
                "listeners": ("PLAINTEXT://h:1", "CONTROLLER://h:2"),
                "controller_listener_names": ("CONTROLLER",),
                "advertised_listeners": ("CONTROLLER://h:2",),
            },
            "advertised.listeners names no listener for clients",
        ),
    ],
)
def test_what_kafka_refuses_is_refused_in_a_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        plan_listeners(settings(**given))


def test_everything_that_is_wrong_is_said_at_once() -> None:
    given = settings(
        listeners=("A://h:1", "a://i:1", "B://h:2", "TLS://h:3"),
        listener_security_protocol_map=("A:PLAINTEXT", "TLS:SSL"),
        advertised_listeners=("A://0.0.0.0:1", "C://h:4", "nowhere"),
    )
    with pytest.raises(SettingError) as refused:
        plan_listeners(given)
    assert str(refused.value) == (
        "the listeners have 7 faults: (1) listeners names A more than once;"
        " (2) advertised.listeners: a listener is written NAME://host:port, not 'nowhere';"
        " (3) listener.security.protocol.map does not name the listener B;"
        " (4) the listener TLS uses SSL; only PLAINTEXT is supported yet;"
        " (5) advertised.listeners names C, which listeners does not;"
        " (6) the listeners A and A both use port 1: each needs a port of its own, unless one is an IPv4 and"
        " the other an IPv6 address;"
        " (7) advertised.listeners cannot hold 0.0.0.0: clients cannot connect to it; name an address or a"
        " host that they can reach"
    )


def test_nothing_is_said_to_be_missing_that_may_be_in_a_text_that_is_not_understood() -> None:
    given = settings(listeners=("PLAINTEXT:/h:1",), advertised_listeners=("PLAINTEXT://h:1",))
    with pytest.raises(SettingError) as refused:
        plan_listeners(given)
    assert str(refused.value) == "listeners: a listener is written NAME://host:port, not 'PLAINTEXT:/h:1'"


def test_names_are_told_apart_without_case_as_in_kafka() -> None:
    plan = plan_listeners(
        settings(
            listeners=("Inside://h:1", "controller://h:2"),
            controller_listener_names=("Controller",),
            listener_security_protocol_map=("inside:plaintext",),
        )
    )
    assert [address.name for address in plan.opened] == ["INSIDE"]
    assert plan.for_controllers == ("CONTROLLER",)


@pytest.mark.parametrize(
    ("addresses", "outward", "found"),
    [
        (["10.0.0.5"], None, "kafka.example"),
        (["127.0.1.1", "10.0.0.5"], None, "kafka.example"),
        (["127.0.1.1"], "10.0.0.5", "10.0.0.5"),
        (["::1"], "10.0.0.5", "10.0.0.5"),
        ([], "10.0.0.5", "10.0.0.5"),
        (["127.0.0.1"], None, "localhost"),
    ],
)
def test_a_machine_is_known_by_what_others_can_reach(
    addresses: list[str], outward: str | None, found: str
) -> None:
    assert own_host(lambda: "kafka.example", lambda name: addresses, lambda: outward) == found


BETWEEN = {
    "listeners": ("CLIENTS://h:1", "BROKERS://h:2"),
    "listener_security_protocol_map": ("CLIENTS:PLAINTEXT", "BROKERS:PLAINTEXT", "TLS:SSL"),
    "inter_broker_listener_name": "brokers",
}
ON_ONE_MACHINE = {"odradek_cluster_directory": "/sockets"}
ON_SEVERAL = {"zookeeper_connect": "zk:2181"}


@pytest.mark.parametrize("cluster", [ON_ONE_MACHINE, ON_SEVERAL])
def test_the_brokers_of_a_cluster_have_the_listener_that_is_named_to_themselves(
    cluster: dict[str, Any],
) -> None:
    plan = plan_listeners(settings(**BETWEEN, **cluster))
    assert plan.for_brokers == "BROKERS"
    assert [address.name for address in plan.opened] == ["CLIENTS", "BROKERS"]
    assert [address.name for address in plan.opened_to_clients] == ["CLIENTS"]


def test_a_broker_that_is_alone_serves_clients_on_all_listeners() -> None:
    plan = plan_listeners(settings(**BETWEEN))
    assert plan.for_brokers is None
    assert plan.opened_to_clients == plan.opened
    assert plan_listeners(settings(**BETWEEN), in_cluster=True).for_brokers == "BROKERS"


def test_the_brokers_of_one_machine_need_no_listener_that_is_named() -> None:
    assert plan_listeners(settings(**ON_ONE_MACHINE)).for_brokers is None


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"inter_broker_listener_name": "INSIDE"},
            "inter.broker.listener.name names 'INSIDE', which listeners does not",
        ),
        (
            {"inter_broker_listener_name": ""},
            "inter.broker.listener.name names '', which listeners does not",
        ),
        (
            {**BETWEEN, "advertised_listeners": ("CLIENTS://h:1",)},
            "inter.broker.listener.name names 'BROKERS', which advertised.listeners does not",
        ),
        (
            {**BETWEEN, "controller_listener_names": ("BROKERS",)},
            "inter.broker.listener.name names 'BROKERS', which listeners does not",
        ),
        (
            {**BETWEEN, "listener_security_protocol_map": ("CLIENTS:PLAINTEXT",)},
            "listener.security.protocol.map does not name the listener BROKERS",
        ),
        (
            {**BETWEEN, "listener_security_protocol_map": ("CLIENTS:PLAINTEXT", "BROKERS:SASL_SSL")},
            "the listener BROKERS uses SASL_SSL; only PLAINTEXT is supported yet",
        ),
        (
            {**ON_ONE_MACHINE, "inter_broker_listener_name": "PLAINTEXT"},
            "inter.broker.listener.name names PLAINTEXT, the only one of listeners, and serves no clients: "
            "give clients another one, or remove the setting: brokers of one machine then use Unix sockets",
        ),
        (
            {**ON_SEVERAL, **BETWEEN, "advertised_listeners": ("BROKERS://h:2",)},
            "inter.broker.listener.name names BROKERS, the only one of advertised.listeners, and serves no"
            " clients: give clients another one",
        ),
        (
            ON_SEVERAL,
            "zookeeper.connect needs inter.broker.listener.name: name a listener that only the brokers of the"
            " cluster use",
        ),
    ],
)
def test_a_listener_that_brokers_cannot_have_to_themselves_is_refused(
    given: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(SettingError) as refused:
        plan_listeners(settings(**given))
    assert str(refused.value) == sentence


def test_a_listener_between_brokers_is_not_missed_where_an_address_is_not_understood() -> None:
    given = settings(**BETWEEN, advertised_listeners=("CLIENTS://h:1", "BROKERS:/h:2"))
    with pytest.raises(SettingError) as refused:
        plan_listeners(given)
    assert str(refused.value) == (
        "advertised.listeners: a listener is written NAME://host:port, not 'BROKERS:/h:2'"
    )


TWO_NAMES = ("A:PLAINTEXT", "B:PLAINTEXT", "CONTROLLER:PLAINTEXT")


@pytest.mark.parametrize(
    ("listeners", "admin", "named"),
    [
        (("A://127.0.0.1:9092", "B://127.0.0.1:9092"), -1, "the listeners A and B both use port 9092"),
        (("A://127.0.0.1:9092", "B://0.0.0.0:9092"), -1, "the listeners A and B both use port 9092"),
        (("A://:9092", "CONTROLLER://:9092"), -1, "the listeners A and CONTROLLER both use port 9092"),
        (("A://127.0.0.1:9092",), 9092, "the admin listener and the listener A both use port 9092"),
        (("A://localhost:9092",), 9092, "the admin listener and the listener A both use port 9092"),
        (("A://:9092",), 9092, "the admin listener and the listener A both use port 9092"),
    ],
)
def test_one_port_cannot_belong_to_two_listeners(listeners: tuple[str, ...], admin: int, named: str) -> None:
    given = settings(
        listeners=listeners,
        listener_security_protocol_map=TWO_NAMES,
        controller_listener_names=("CONTROLLER",),
        odradek_admin_port=admin,
    )
    with pytest.raises(SettingError, match=named):
        plan_listeners(given)


@pytest.mark.parametrize(
    ("listeners", "admin"),
    [
        (("A://127.0.0.1:0", "B://127.0.0.1:0"), 0),
        (("A://127.0.0.1:9092", "B://[::1]:9092"), -1),
        (("A://10.0.0.1:9092",), 9092),
    ],
)
def test_ports_that_the_system_gives_and_those_of_other_addresses_are_no_conflict(
    listeners: tuple[str, ...], admin: int
) -> None:
    given = settings(listeners=listeners, listener_security_protocol_map=TWO_NAMES, odradek_admin_port=admin)
    assert len(plan_listeners(given).opened) == len(listeners)
