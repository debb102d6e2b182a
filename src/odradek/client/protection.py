"""Reads the settings that protect connections: `security.protocol`, `ssl.*` and `sasl.*`, by Kafka's names.

Invariants: a setting that asks for protection takes effect or is refused; a user who asked for protection
never sends in the clear. No setting names a class, a URL or a program. Files are named only for certificates
and keys. What text cannot carry, a TLS context and a provider of tokens, is given as Python objects. Messages
of errors contain no value of a secret setting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Final

from odradek.base.errors import SettingError
from odradek.net.security import UNPROTECTED, Security

if TYPE_CHECKING:  # see `net/security`
    import ssl

    from odradek.net.sasl.credentials import Credentials

PREFIXES: Final = ("security.", "ssl.", "sasl.")
"""The beginnings of the names that are read here."""

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_ENDPOINT_ALGORITHM: Final = "ssl.endpoint.identification.algorithm"

TLS_NAMES: Final = (
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.truststore.certificates",
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.key.password",
    "ssl.enabled.protocols",
    _ENDPOINT_ALGORITHM,
)
SASL_NAMES: Final = ("sasl.mechanism", "sasl.jaas.config", "sasl.username", "sasl.password")
NAMES: Final = ("security.protocol", *TLS_NAMES, *SASL_NAMES)
"""All names that are read here; `sasl.username` and `sasl.password` stand for `sasl.jaas.config`."""

_CLASSES: Final = "no class is loaded because a setting names it"
_PROVIDER: Final = "tokens come from the argument token_provider, a Python callable"
_CONTEXT: Final = "give the argument ssl_context, a Python ssl.SSLContext, for more than PEM files"
_KEY_FILE: Final = "name one PEM file with the key and its certificates by ssl.keystore.location"
_KERBEROS: Final = "GSSAPI is not spoken here"
_REFUSED: Final[Mapping[str, str]] = {
    "sasl.login.callback.handler.class": f"{_CLASSES}; {_PROVIDER}",
    "sasl.client.callback.handler.class": _CLASSES,
    "sasl.login.class": _CLASSES,
    "ssl.engine.factory.class": f"{_CLASSES}; {_CONTEXT}",
    "security.providers": _CLASSES,
    "sasl.oauthbearer.token.endpoint.url": f"no URL is fetched because a setting names it; {_PROVIDER}",
    "sasl.oauthbearer.jwks.endpoint.url": f"no URL is fetched because a setting names it; {_PROVIDER}",
    "ssl.truststore.password": "files in PEM have no password",
    "ssl.keystore.password": "files in PEM have no password; ssl.key.password opens an encrypted key",
    "ssl.keystore.key": _KEY_FILE,
    "ssl.keystore.certificate.chain": _KEY_FILE,
    "ssl.ca.location": "Kafka's name is ssl.truststore.location, with ssl.truststore.type=PEM",
    "ssl.certificate.location": _KEY_FILE,
    "ssl.key.location": _KEY_FILE,
    "ssl.protocol": "say ssl.enabled.protocols",
    "ssl.provider": _CONTEXT,
    "ssl.cipher.suites": _CONTEXT,
    "sasl.mechanisms": "Kafka's name is sasl.mechanism",
}
_REFUSED_PREFIXES: Final[Mapping[str, str]] = {
    "sasl.oauthbearer.": _PROVIDER,
    "sasl.login.": _PROVIDER,
    "sasl.kerberos.": _KERBEROS,
}


def read_protection(
    settings: Mapping[str, str],
    *,
    ssl_context: ssl.SSLContext | None = None,
    token_provider: Callable[[], str] | None = None,
) -> Security:
    """The protection that these settings and Python objects ask for; `settings` has no other names.

    Raises SettingError for an unknown name or value, and for what would have no effect.
    """
    for name in settings:
        if name not in NAMES:
            raise SettingError(_unknown(name))
    protocol = settings.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in PROTOCOLS:
        raise SettingError(f"security.protocol is one of {', '.join(PROTOCOLS)}, not '{protocol}'")
    _check_effect(settings, protocol, ssl_context, token_provider)
    if protocol == "PLAINTEXT":
        return UNPROTECTED
    return Security(
        (ssl_context or _context(settings)) if protocol.endswith("SSL") else None,
        _credentials(settings, token_provider) if protocol.startswith("SASL") else None,
    )


def _unknown(name: str) -> str:
    reasons = [reason for prefix, reason in _REFUSED_PREFIXES.items() if name.startswith(prefix)]
    if name in _REFUSED or reasons:
        return f"{name} is refused: {_REFUSED.get(name) or reasons[0]}"
    near = get_close_matches(name, NAMES, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{name} is not a setting of this client{hint}"


def _check_effect(
    settings: Mapping[str, str],
    protocol: str,
    ssl_context: ssl.SSLContext | None,
    token_provider: Callable[[], str] | None,
) -> None:
    """Raise SettingError for what asks for protection that the protocol does not give."""
    tls = [name for name in TLS_NAMES if name in settings]
    if ssl_context is not None:
        if tls:
            raise SettingError(f"{tls[0]} has no effect beside ssl_context")
        tls = ["ssl_context"]
    sasl = [name for name in SASL_NAMES if name in settings]
    if token_provider is not None:
        sasl.append("token_provider")
    for given, is_used, needed in (
        (tls, protocol.endswith("SSL"), "SSL or SASL_SSL"),
        (sasl, protocol.startswith("SASL"), "SASL_SSL or SASL_PLAINTEXT"),
    ):
        if given and not is_used:
            raise SettingError(
                f"{given[0]} has no effect with security.protocol={protocol}: it needs {needed}"
            )


def _context(settings: Mapping[str, str]) -> ssl.SSLContext:
    from odradek.net.tls import VERSIONS, client_context

    for store in ("truststore", "keystore"):
        kind = settings.get(f"ssl.{store}.type", "JKS").strip().upper()
        needs_it = any(f"ssl.{store}.{what}" in settings for what in ("location", "certificates", "type"))
        if needs_it and kind != "PEM":
            raise SettingError(
                f"only PEM files are read, not {kind}: convert the {store} and set ssl.{store}.type=PEM"
            )
    algorithm = settings.get(_ENDPOINT_ALGORITHM, "https").strip().lower()
    if algorithm not in ("https", ""):
        raise SettingError(f"{_ENDPOINT_ALGORITHM} is https, or empty, not '{algorithm}'")
    versions = [one.strip() for one in settings.get("ssl.enabled.protocols", ",".join(VERSIONS)).split(",")]
    for version in versions:
        if version not in VERSIONS:
            raise SettingError(f"ssl.enabled.protocols is a list of {', '.join(VERSIONS)}, not '{version}'")
    if "ssl.truststore.location" in settings and "ssl.truststore.certificates" in settings:
        raise SettingError("ssl.truststore.location and ssl.truststore.certificates exclude each other")
    if "ssl.key.password" in settings and "ssl.keystore.location" not in settings:
        raise SettingError("ssl.key.password has no effect without ssl.keystore.location")
    return client_context(
        authorities_path=_path(settings, "ssl.truststore.location"),
        authorities=settings.get("ssl.truststore.certificates"),
        key_path=_path(settings, "ssl.keystore.location"),
        key_password=settings.get("ssl.key.password"),
        checks_name=bool(algorithm),
        versions=versions,
    )


def _path(settings: Mapping[str, str], name: str) -> Path | None:
    if name not in settings:
        return None
    if not settings[name].strip():
        raise SettingError(f"{name} has no value")
    return Path(settings[name].strip())


def _credentials(settings: Mapping[str, str], token_provider: Callable[[], str] | None) -> Credentials:
    from odradek.net.sasl.credentials import MECHANISMS, OAuthBearer, Plain, Scram

    mechanism = settings.get("sasl.mechanism", "").strip().upper()
    if mechanism not in MECHANISMS:
        said = (
            f"not '{mechanism}'"
            if mechanism
            else "and must be set: Kafka's default, GSSAPI, is not spoken here"
        )
        raise SettingError(f"sasl.mechanism is one of {', '.join(MECHANISMS)}, {said}")
    if mechanism == OAuthBearer.mechanism:
        return OAuthBearer(_only_provider(settings, token_provider))
    if token_provider is not None:
        raise SettingError(f"token_provider has no effect with sasl.mechanism={mechanism}")
    username, password = _login(settings, mechanism)
    return Plain(username, password) if mechanism == Plain.mechanism else Scram(mechanism, username, password)


def _only_provider(
    settings: Mapping[str, str], token_provider: Callable[[], str] | None
) -> Callable[[], str]:
    for name in SASL_NAMES[1:]:
        if name in settings:
            raise SettingError(f"{name} has no effect with sasl.mechanism=OAUTHBEARER: {_PROVIDER}")
    if token_provider is None:
        raise SettingError(f"sasl.mechanism=OAUTHBEARER cannot be used here: {_PROVIDER}")
    return token_provider


def _login(settings: Mapping[str, str], mechanism: str) -> tuple[str, str]:
    from odradek.client.jaas import read_login

    names = [name for name in SASL_NAMES[2:] if name in settings]
    if "sasl.jaas.config" in settings:
        if names:
            raise SettingError(f"{names[0]} and sasl.jaas.config exclude each other")
        return read_login(settings["sasl.jaas.config"], mechanism)
    if len(names) < 2:
        raise SettingError(
            f"sasl.mechanism={mechanism} needs sasl.jaas.config, or sasl.username and sasl.password"
        )
    return settings["sasl.username"], settings["sasl.password"]
