"""Reads `sasl.jaas.config`: the login of one user, in Kafka's form. No class that it names is ever loaded.

    org.apache.kafka.common.security.scram.ScramLoginModule required username="ada" password="secret";

Only the two login modules that hold a user's name and password are known, each for its mechanisms. The
messages of errors never repeat the text, which contains the password.
"""

import re
from typing import Final

from odradek.base.errors import SettingError

_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
_MODULES: Final = {"PLAIN": _PLAIN, "SCRAM-SHA-256": _SCRAM, "SCRAM-SHA-512": _SCRAM}
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")

_LOGIN: Final = re.compile(r"\s*(?P<module>\S+)\s+(?P<flag>[a-zA-Z]+)(?P<options>.*?)\s*;\s*", re.DOTALL)
_OPTION: Final = re.compile(
    r"""\s+(?P<name>[A-Za-z_.]+)\s*=\s*(?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)'|(?P<bare>[^\s;"']+))""",
    re.DOTALL,
)


def read_login(text: str, mechanism: str) -> tuple[str, str]:
    """The user's name and password of the login module that belongs to the mechanism. Raises SettingError."""
    wanted = _MODULES[mechanism]
    login = _LOGIN.fullmatch(text)
    if login is None or login["flag"].lower() not in _FLAGS:
        raise SettingError(f'sasl.jaas.config has the form {wanted} required username="..." password="...";')
    if login["module"] != wanted:
        raise SettingError(f"sasl.jaas.config for {mechanism} can only name the login module {wanted}")
    options = _options(login["options"])
    for name in options:
        if name not in ("username", "password"):
            raise SettingError(f"sasl.jaas.config can only give username and password, not {name}")
    for name in ("username", "password"):
        if name not in options:
            raise SettingError(f"sasl.jaas.config does not give the {name}")
    return options["username"], options["password"]


def _options(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    position = 0
    while position < len(text):
        option = _OPTION.match(text, position)
        if option is None:
            raise SettingError('the options of sasl.jaas.config have the form name="text"')
        quoted = option["double"] if option["double"] is not None else option["single"]
        if quoted is not None:
            found[option["name"]] = re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        else:
            found[option["name"]] = option["bare"]
        position = option.end()
    return found
