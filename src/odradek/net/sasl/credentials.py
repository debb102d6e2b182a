"""What a client authenticates with, and the exchange that does it. Nothing here shows a password or a
token.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Final, TypeAlias

from odradek.base.errors import SettingError
from odradek.net.sasl.exchange import Exchange
from odradek.net.sasl.oauthbearer import oauthbearer
from odradek.net.sasl.plain import plain
from odradek.net.sasl.scram import HASHES, scram


@dataclass(frozen=True, slots=True)
class Plain:
    """A user's name and password, which the broker gets as they are. Raises SettingError."""

    mechanism: ClassVar[str] = "PLAIN"
    username: str
    password: str = field(repr=False)

    def __post_init__(self) -> None:
        _check(self.username, self.password)

    def exchange(self, nonce: str) -> Exchange:
        """A new exchange; the nonce is not needed."""
        return plain(self.username, self.password)


@dataclass(frozen=True, slots=True)
class Scram:
    """A user's name and password, which the broker never gets. Raises SettingError."""

    mechanism: str
    username: str
    password: str = field(repr=False)

    def __post_init__(self) -> None:
        assert self.mechanism in HASHES, self.mechanism
        _check(self.username, self.password)

    def exchange(self, nonce: str) -> Exchange:
        """A new exchange with a nonce of its own."""
        return scram(self.mechanism, self.username, self.password, nonce)


@dataclass(frozen=True, slots=True)
class OAuthBearer:
    """A callable that returns a token which is valid now; it is called on a thread that may block."""

    mechanism: ClassVar[str] = "OAUTHBEARER"
    token: Callable[[], str] = field(repr=False)

    def exchange(self, nonce: str) -> Exchange:
        """A new exchange; the nonce is not needed."""
        return oauthbearer(self.token)


Credentials: TypeAlias = Plain | Scram | OAuthBearer

MECHANISMS: Final = (Plain.mechanism, *HASHES, OAuthBearer.mechanism)
"""Kafka's names of the mechanisms."""


def _check(username: str, password: str) -> None:
    """Raise SettingError for what no exchange can carry."""
    if not username:
        raise SettingError("the user's name for SASL is empty")
    if "\0" in username or "\0" in password:
        raise SettingError("the user's name and password for SASL cannot contain a zero character")
    try:
        (username + password).encode()
    except UnicodeEncodeError:
        raise SettingError("the user's name and password for SASL must be text") from None
