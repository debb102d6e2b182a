import pytest

from odradek.base.errors import SettingError
from odradek.base.settings import SettingLayers
from odradek.base.settings.definition import Kind, Update
from odradek.base.settings.names import broker_setting, warnings_about


@pytest.mark.parametrize(
    ("name", "kind", "update"),
    [
        ("num.partitions", Kind.INT, Update.READ_ONLY),
        ("sasl.kerberos.min.time.before.relogin", Kind.LONG, Update.PER_BROKER),
        ("ssl.keystore.password", Kind.PASSWORD, Update.PER_BROKER),
        ("listener.name.client.ssl.keystore.location", Kind.STRING, Update.PER_BROKER),
        ("listener.name.client.max.connections", Kind.INT, Update.CLUSTER_WIDE),
        ("listener.name.client.plain.sasl.jaas.config", Kind.UNKNOWN, Update.PER_BROKER),
        ("foo.bar", Kind.UNKNOWN, Update.CLUSTER_WIDE),
        ("listener.name.", Kind.UNKNOWN, Update.CLUSTER_WIDE),
    ],
)
def test_every_name_means_something(name: str, kind: Kind, update: Update) -> None:
    found = broker_setting(name)
    assert (found.name, found.kind, found.update) == (name, kind, update)


def test_a_password_and_what_may_be_one_is_secret() -> None:
    secrets = ("ssl.keystore.password", "listener.name.client.ssl.key.password", "foo.password")
    assert all(broker_setting(name).is_secret for name in secrets)
    assert not broker_setting("ssl.keystore.location").is_secret


def test_what_has_no_effect_is_said_once_for_each_reason() -> None:
    layers, unknown = SettingLayers.from_static(
        {
            "num.io.threads": "8",
            "foo.bar": "1",
            "num.network.threads": "3",
            "ssl.keystore.location": "/keys",
            "num.partitions": "3",
        }
    )
    assert unknown == ["foo.bar"]
    assert layers.warnings() == [
        "there is no setting named foo.bar; it is ignored",
        "num.io.threads, num.network.threads have no effect here: one thread does all the work",
        "ssl.keystore.location has no effect here: no listener uses SSL or SASL yet",
    ]


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["password.encoder.secret"], "password.encoder.secret has no effect here: "),
        (
            ["inter.broker.protocol.version", "log.message.format.version"],
            "inter.broker.protocol.version, log.message.format.version have no effect here: ",
        ),
    ],
)
def test_the_reason_fits_one_setting_and_several(names: list[str], sentence: str) -> None:
    assert warnings_about(names) == [sentence + "Apache Kafka has no such setting any more either"]


def test_a_value_of_the_wrong_kind_is_refused_although_nothing_reads_it() -> None:
    with pytest.raises(SettingError, match=r"^sasl\.login\.retry\.backoff\.ms must be a whole number"):
        SettingLayers.from_static({"sasl.login.retry.backoff.ms": "soon"})
    with pytest.raises(SettingError, match=r"^share\.coordinator\.threads must be at least 1, not 0$"):
        SettingLayers.from_static({"share.coordinator.threads": "0"})
