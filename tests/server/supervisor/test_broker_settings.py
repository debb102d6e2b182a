"""The settings of a cluster, spread over its brokers, or refused."""

import pytest

from odradek.base.errors import SettingError
from odradek.base.settings import SettingLayers
from odradek.server.edge.addresses import plan_listeners
from odradek.server.supervisor.broker_settings import ADMIN, cluster_settings


def test_ids_directories_and_ports_are_counted() -> None:
    given = {
        "log.dirs": "/a,/b/",
        "listeners": "PLAINTEXT://0.0.0.0:9092",
        "advertised.listeners": "PLAINTEXT://kafka.example:9092",
        "odradek.admin.port": "8080",
        "num.partitions": "6",
    }
    found = cluster_settings(given, 3)
    assert list(found.broker_ids) == [1, 2, 3]
    ports = found.wanted_ports(3)
    assert ports == {"PLAINTEXT": 9094, ADMIN: 8082}
    assert found.settings_of(3, ports, "/run/sockets") == {
        "node.id": "3",
        "log.dirs": "/a/broker-3,/b/broker-3",
        "listeners": "PLAINTEXT://0.0.0.0:9094",
        "advertised.listeners": "PLAINTEXT://kafka.example:9094",
        "odradek.admin.port": "8082",
        "odradek.cluster.directory": "/run/sockets",
        "odradek.cluster.brokers": "3",
        "num.partitions": "6",
    }


def test_settings_without_effect_are_told_once_for_all_brokers() -> None:
    given = {"num.network.threads": "8", "num.partition": "3", "num.partitions": "3"}
    assert cluster_settings(given, 3).warnings == (
        "there is no setting named num.partition; it is ignored",
        "num.network.threads has no effect here: one thread does all the work",
    )
    assert cluster_settings({"num.partitions": "3"}, 3).warnings == ()


def test_what_a_broker_gets_is_accepted_by_a_broker() -> None:
    given = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093,INSIDE://[::1]:9192",
        "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093,INSIDE://localhost:0",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT",
    }
    found = cluster_settings(given, 3)
    assert found.not_opened == ("CONTROLLER",)
    layers, _ = SettingLayers.from_static(found.settings_of(2, found.wanted_ports(2), "/run/sockets"))
    plan = plan_listeners(layers.in_force)
    assert [str(one) for one in plan.opened] == ["0.0.0.0:9093", "[::1]:9193"]
    assert [str(one) for one in plan.advertised] == ["localhost:9093", "localhost:9193"]


BETWEEN = {
    "listeners": "BROKERS://127.0.0.1:0,PLAINTEXT://127.0.0.1:9092",
    "listener.security.protocol.map": "BROKERS:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "inter.broker.listener.name": "BROKERS",
}


def test_each_broker_has_its_own_port_for_the_others_which_is_not_for_clients() -> None:
    found = cluster_settings(BETWEEN, 3)
    assert found.for_brokers == "BROKERS"
    assert [one.name for one in found.opened_to_clients] == ["PLAINTEXT"]
    assert found.wanted_ports(3) == {"BROKERS": 0, "PLAINTEXT": 9094}
    given = found.settings_of(3, {"BROKERS": 40_000, "PLAINTEXT": 9094}, "/run/sockets")
    assert given["listeners"] == "BROKERS://127.0.0.1:40000,PLAINTEXT://127.0.0.1:9094"
    layers, _ = SettingLayers.from_static(given)
    assert plan_listeners(layers.in_force).for_brokers == "BROKERS"


def test_a_listener_between_brokers_cannot_be_the_only_one() -> None:
    with pytest.raises(SettingError, match="names PLAINTEXT, the only one of listeners, and serves no"):
        cluster_settings({"inter.broker.listener.name": "PLAINTEXT"}, 3)


def test_a_listener_for_controllers_is_no_second_one_for_clients() -> None:
    """With the server.properties of Apache Kafka: refused here, not by a broker that was started."""
    kafka = {
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
        "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    }
    assert cluster_settings(kafka, 3).not_opened == ("CONTROLLER",)
    with pytest.raises(SettingError, match=r"names PLAINTEXT, the only one of advertised\.listeners, and"):
        cluster_settings(kafka | {"inter.broker.listener.name": "PLAINTEXT"}, 3)


def test_without_settings_there_are_the_defaults() -> None:
    found = cluster_settings({}, 2)
    settings = found.settings_of(2, found.wanted_ports(2), "/s")
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:9093"
    assert settings["log.dirs"] == "data/broker-2"
    assert "advertised.listeners" not in settings
    assert "odradek.admin.port" not in settings


def test_a_port_0_is_chosen_later() -> None:
    found = cluster_settings({"listeners": "PLAINTEXT://127.0.0.1:0", "odradek.admin.port": "0"}, 2)
    assert found.wanted_ports(2) == {"PLAINTEXT": 0, ADMIN: 0}
    settings = found.settings_of(2, {"PLAINTEXT": 4001, ADMIN: 4002}, "/s")
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:4001"
    assert settings["odradek.admin.port"] == "4002"


def test_a_single_broker_may_advertise_another_port() -> None:
    given = {"listeners": "PLAINTEXT://:9092", "advertised.listeners": "PLAINTEXT://kafka.example:443"}
    found = cluster_settings(given, 1)
    settings = found.settings_of(1, found.wanted_ports(1), "/s")
    assert settings["advertised.listeners"] == "PLAINTEXT://kafka.example:443"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"broker.id": "5"}, "node.id=5 cannot be given with --brokers 3: the ids are 1 to 3"),
        ({"odradek.metadata.file": "m.db"}, "odradek.metadata.file cannot be given with --brokers: "),
        ({"odradek.cluster.directory": "/x"}, "odradek.cluster.directory cannot be given with --brokers: "),
        ({"odradek.cluster.brokers": "3"}, "odradek.cluster.brokers cannot be given with --brokers: "),
        (
            {"listeners": "PLAINTEXT://:65534"},
            "3 brokers cannot have the ports from 65534 on: the last port is 65535",
        ),
        (
            {
                "listeners": "A://:9092,B://:9094",
                "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT",
            },
            "3 brokers need 3 ports from 9092 on for A, and from 9094 on for B: "
            "choose ports that are further apart",
        ),
        (
            {"listeners": "PLAINTEXT://:9092", "odradek.admin.port": "9091"},
            "3 brokers need 3 ports from 9092 on for PLAINTEXT, and from 9091 on for the admin listeners",
        ),
        (
            {"listeners": "PLAINTEXT://:9092", "advertised.listeners": "PLAINTEXT://kafka:443"},
            "advertised.listeners has port 443 for 3 brokers, and listeners has 9092: give both the same",
        ),
        (
            {"listeners": "PLAINTEXT://:0", "advertised.listeners": "PLAINTEXT://kafka:443"},
            "advertised.listeners has port 443 for 3 brokers, and listeners has 0",
        ),
        ({"listeners": "SSL://:9092"}, "the listener SSL uses SSL"),
        ({"num.partitions": "none"}, "num.partitions must be a whole number"),
    ],
)
def test_what_cannot_be_spread_is_refused_in_a_sentence(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingError) as refused:
        cluster_settings(given, 3)
    assert str(refused.value).startswith(sentence)


def test_ports_that_are_far_enough_apart_are_accepted() -> None:
    given = {"listeners": "A://:9092,B://:9095", "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT"}
    assert cluster_settings(given, 3).wanted_ports(3) == {"A": 9094, "B": 9097}
