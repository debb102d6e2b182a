import pytest

from odradek.base.errors import SettingError
from odradek.base.settings import BROKER_SETTINGS, SettingLayers
from odradek.base.settings.broker.without_effect import settings_without_effect
from odradek.base.settings.protection import unkept_promise

PROTECTIVE = (
    ("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
    ("create.topic.policy.class.name", "com.example.Policy"),
    ("alter.config.policy.class.name", "com.example.Policy"),
    ("client.quota.callback.class", "com.example.Quotas"),
    ("quota.producer.default", "1048576"),
    ("quota.consumer.default", "1048576"),
    ("max.connection.creation.rate", "10"),
    ("max.connections.per.ip.overrides", "10.0.0.1:5"),
    ("principal.builder.class", "com.example.Principals"),
    ("security.inter.broker.protocol", "SASL_SSL"),
    ("security.providers", "com.example.Provider"),
    ("delegation.token.secret.key", "s3cret"),
    ("delegation.token.master.key", "s3cret"),
    ("config.providers", "vault"),
    ("zookeeper.set.acl", "true"),
    ("zookeeper.ssl.client.enable", "true"),
    ("listener.name.client.max.connections", "10"),
    ("listener.name.client.max.connection.creation.rate", "10"),
    ("listener.name.client.principal.builder.class", "com.example.Principals"),
)


@pytest.mark.parametrize(("name", "text"), PROTECTIVE)
def test_a_start_with_protection_that_is_not_served_is_refused_in_one_sentence(name: str, text: str) -> None:
    with pytest.raises(SettingError) as refused:
        SettingLayers.from_static({name: text})
    sentence = str(refused.value)
    assert sentence.startswith(f"{name} cannot be set: ")
    assert text not in sentence, "a value may be a secret"
    assert "remove it" in sentence, "the way on"
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("authorizer.class.name", ""),
        ("authorizer.class.name", "  "),
        ("max.connection.creation.rate", "2147483647"),
        ("security.inter.broker.protocol", "PLAINTEXT"),
        (
            "principal.builder.class",
            "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
        ),
        ("listener.name.client.max.connections", "2147483647"),
        ("max.connections", "10"),
        ("ssl.client.auth", "required"),
    ],
)
def test_what_asks_for_no_missing_protection_is_taken(name: str, text: str) -> None:
    assert unkept_promise(name, text) is None
    SettingLayers.from_static({name: text})


def test_no_class_of_kafka_s_is_loaded_for_protection_without_a_word() -> None:
    """Every setting that names a policy, an authorizer or a quota is refused, were it declared tomorrow."""
    known = {**BROKER_SETTINGS, **settings_without_effect()}
    for name in known:
        if any(
            word in name for word in ("authorizer", "policy.class", "quota.callback", "principal.builder")
        ):
            assert unkept_promise(name, "com.example.Anything") is not None, name
