"""Client properties with Kafka's names."""

from pathlib import Path

import pytest

from odradek.base.errors import SettingError
from odradek.client.configuration import ClientConfig, from_properties, read_properties

DEFAULTS = ClientConfig()


def test_names_are_kafkas() -> None:
    found, warnings = from_properties(
        {"bootstrap.servers": "a:1", "client.id": "me", "security.protocol": "PLAINTEXT"}, DEFAULTS
    )
    assert (found.bootstrap_servers, found.client_id, warnings) == ("a:1", "me", [])


def test_settings_of_other_commands_are_no_mistake() -> None:
    shared = {"acks": "all", "batch.size": "2000000", "isolation.level": "READ_COMMITTED"}
    assert from_properties(shared, DEFAULTS) == (DEFAULTS, [])


def test_what_has_no_effect_is_reported() -> None:
    _, warnings = from_properties({"receive.buffer.bytes": "1"}, DEFAULTS)
    assert warnings == ["receive.buffer.bytes has no effect in these commands and is ignored"]
    _, warnings = from_properties({"metadata.broker.list": "a:1"}, DEFAULTS)
    assert warnings == ["metadata.broker.list is called bootstrap.servers here and is ignored"]


def test_protection_takes_effect_or_is_refused() -> None:
    login = {"sasl.mechanism": "PLAIN", "sasl.username": "ada", "sasl.password": "secret"}
    found, warnings = from_properties({"security.protocol": "SASL_PLAINTEXT"} | login, DEFAULTS)
    assert (found.security.protocol, warnings) == ("SASL_PLAINTEXT", [])
    assert "secret" not in repr(found)
    with pytest.raises(
        SettingError, match=r"sasl\.mechanism has no effect with security\.protocol=PLAINTEXT"
    ):
        from_properties(login, DEFAULTS)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("request.timeout.ms", "soon", "request.timeout.ms is a whole number from 1 to"),
        ("bootstrap.servers", "nowhere", "bootstrap servers are a list of host:port, not 'nowhere'"),
        ("bootstrap.servers", "", "bootstrap.servers has no value"),
    ],
)
def test_a_bad_value_is_a_sentence(name: str, value: str, sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        from_properties({name: value}, DEFAULTS)


def test_a_file_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"cannot read the properties file .*: no such file or directory"):
        read_properties(tmp_path / "none")
    bad = tmp_path / "bad"
    bad.write_bytes(b"\xff")
    with pytest.raises(SettingError, match="is not UTF-8"):
        read_properties(bad)
