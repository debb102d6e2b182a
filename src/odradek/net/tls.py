"""TLS of outgoing connections: contexts from PEM files, and one sentence for each way in which TLS fails.

Invariants: the broker's certificate is always verified, against the given authorities or the machine's own,
and its name too unless that is switched off by name. Nothing older than TLS 1.2 is spoken.
"""

import ssl
from collections.abc import Collection
from pathlib import Path
from typing import Final

from odradek.base.errors import SettingError
from odradek.base.system_errors import reason_of

VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
"""Kafka's names."""


def client_context(
    *,
    authorities_path: Path | None = None,
    authorities: str | None = None,
    key_path: Path | None = None,
    key_password: str | None = None,
    checks_name: bool = True,
    versions: Collection[str] = tuple(VERSIONS),
) -> ssl.SSLContext:
    """A context for connections to brokers. Raises SettingError for files that are no such PEM.

    `authorities_path` names, or `authorities` contains, the certificates that are trusted; without both the
    machine's own are. `key_path` names a file with the client's key and its certificates. `versions` is not
    empty.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = checks_name
    known = [VERSIONS[name] for name in versions]
    context.minimum_version, context.maximum_version = min(known), max(known)
    if authorities_path is None and authorities is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    else:
        _trust(context, authorities_path, authorities)
    if key_path is not None:
        _identify(context, key_path, key_password)
    return context


def _trust(context: ssl.SSLContext, path: Path | None, text: str | None) -> None:
    where = "ssl.truststore.certificates" if path is None else f"the file {path}"
    try:
        context.load_verify_locations(cafile=path, cadata=text)
    except ssl.SSLError:
        raise SettingError(f"{where} has no certificates in PEM") from None
    except OSError as error:
        raise SettingError(f"cannot read {where}: {reason_of(error)}") from None
    except ValueError:  # of an empty text
        raise SettingError(f"{where} has no certificates in PEM") from None


def _identify(context: ssl.SSLContext, path: Path, password: str | None) -> None:
    try:
        # Without a password OpenSSL would ask for one on the terminal.
        context.load_cert_chain(path, password="" if password is None else password)
    except ssl.SSLError:
        said = "no key with its certificates in PEM, or ssl.key.password does not open the key"
        raise SettingError(f"the file {path} has {said}") from None
    except OSError as error:
        raise SettingError(f"cannot read the file {path}: {reason_of(error)}") from None


def tls_fault(error: OSError) -> str:
    """Why the two sides have no TLS connection, in a few words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the broker's certificate is not accepted: {error.verify_message.rstrip('.').lower()}"
    if isinstance(error, ConnectionResetError | ssl.SSLEOFError):
        return "the broker ended the connection during TLS's handshake"
    if isinstance(error, ssl.SSLError):
        reason = (error.reason or str(error)).lower().replace("_", " ")
        if "wrong version number" in reason or "record layer failure" in reason:
            return "the broker does not speak TLS there"
        return f"TLS failed: {reason}"
    return reason_of(error)
