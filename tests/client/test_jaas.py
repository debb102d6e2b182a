"""`sasl.jaas.config`: a name and a password, and never a class."""

import pytest

from odradek.base.errors import SettingError
from odradek.client.jaas import read_login

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.mark.parametrize(
    ("text", "mechanism", "login"),
    [
        (f'{PLAIN} required username="ada" password="s=e;c r\\"et";', "PLAIN", ("ada", 's=e;c r"et')),
        (f"{SCRAM} required username='ada' password='x y';", "SCRAM-SHA-256", ("ada", "x y")),
        (f"  {SCRAM}\n  required\n  password=p1\n username=ada ;\n", "SCRAM-SHA-512", ("ada", "p1")),
        (f'{PLAIN} required username="" password="";', "PLAIN", ("", "")),
        (f'{PLAIN} required username="a\\\\" password="b";', "PLAIN", ("a\\", "b")),
    ],
)
def test_logins(text: str, mechanism: str, login: tuple[str, str]) -> None:
    assert read_login(text, mechanism) == login


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has the form"),
        (f'{PLAIN} required username="ada" password="secret"', "has the form"),
        (f'{PLAIN} perhaps username="ada" password="secret";', "has the form"),
        (f'{PLAIN} required username="ada";', "does not give the password"),
        (f'{PLAIN} required password="secret";', "does not give the username"),
        (f'{PLAIN} required username="ada" password="secret" serviceName="x";', "not serviceName"),
        (f'{PLAIN} required username="ada" password="secret;', "the form name="),
        (f'{SCRAM} required username="ada" password="secret";', "can only name the login module"),
        ('com.evil.Module required username="ada" password="secret";', "can only name the login module"),
        (f'{PLAIN} required username="a" password="secret"; {PLAIN} required;', "the form name="),
    ],
)
def test_other_logins_are_refused_without_showing_the_password(text: str, sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence) as refused:
        read_login(text, "PLAIN")
    assert "secret" not in str(refused.value)
    assert "evil" not in str(refused.value)
