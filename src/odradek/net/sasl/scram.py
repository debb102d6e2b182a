"""SASL SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677), without channel binding.

    n,,n=ada,r=<nonce>                                the client's nonce
    r=<nonce><more>,s=<salt>,i=4096                   the server adds to the nonce
    (the password's key is derived: `Compute`)
    c=biws,r=<nonce><more>,p=<proof>                  the client knows the password
    v=<signature>                                     the server knows its key

Invariants: the password never leaves the client. The exchange ends only if the server's nonce begins with the
client's and is longer, and if the server's signature is right: a server that does not know the key of the
password is refused. The server cannot choose so few iterations that guessing is cheap, nor so many that the
client computes for minutes.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from functools import partial
from typing import Final

from odradek.net.sasl.exchange import AuthenticationFailed, Compute, Exchange, Send

ITERATIONS_MIN: Final = 4_096
"""The least that RFC 7677 allows."""
ITERATIONS_MAX: Final = 1_000_000
"""About half a second of computing; Apache Kafka stores at most 16,384."""

HASHES: Final[Mapping[str, str]] = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""Mechanism to its hash."""

_NO_CHANNEL_BINDING: Final = "n,,"


def scram(mechanism: str, username: str, password: str, nonce: str) -> Exchange:
    """`nonce` is unpredictable and new for each exchange: printable ASCII without commas."""
    hash_name = HASHES[mechanism]
    client_first = f"n={_escaped(username)},r={nonce}"
    server_first = _text((yield Send((_NO_CHANNEL_BINDING + client_first).encode())))
    full_nonce, salt, iterations = _challenge(server_first, nonce)
    key = yield Compute(partial(hashlib.pbkdf2_hmac, hash_name, password.encode(), salt, iterations))
    binding = base64.b64encode(_NO_CHANNEL_BINDING.encode()).decode()
    unproved = f"c={binding},r={full_nonce}"
    signed = f"{client_first},{server_first},{unproved}".encode()
    proof = base64.b64encode(_proof(hash_name, key, signed)).decode()
    server_final = _text((yield Send(f"{unproved},p={proof}".encode())))
    server_key = hmac.digest(key, b"Server Key", hash_name)
    _check_signature(server_final, hmac.digest(server_key, signed, hash_name))


def _proof(hash_name: str, key: bytes, signed: bytes) -> bytes:
    client_key = hmac.digest(key, b"Client Key", hash_name)
    signature = hmac.digest(hashlib.new(hash_name, client_key).digest(), signed, hash_name)
    return bytes(left ^ right for left, right in zip(client_key, signature, strict=True))


def _challenge(server_first: str, nonce: str) -> tuple[str, bytes, int]:
    """The whole nonce, the salt, and the number of iterations of the server's first message."""
    fields = _fields(server_first)
    if "m" in fields:
        raise AuthenticationFailed("the broker demands an extension of SCRAM that is not known here")
    full_nonce, iterations = fields.get("r", ""), fields.get("i", "")
    if not full_nonce.startswith(nonce) or len(full_nonce) == len(nonce):
        raise AuthenticationFailed(
            "the broker's nonce does not continue this client's: its answer is not for it"
        )
    salt = _decoded(fields.get("s", ""), "salt")
    if not salt:
        raise AuthenticationFailed("the broker sent no salt")
    if not (iterations.isascii() and iterations.isdecimal() and len(iterations) <= len(str(ITERATIONS_MAX))):
        raise AuthenticationFailed(f"the broker's number of iterations is not one from {_BOUNDS}")
    if not ITERATIONS_MIN <= int(iterations) <= ITERATIONS_MAX:
        raise AuthenticationFailed(f"the broker asks for {int(iterations):,} iterations, not for {_BOUNDS}")
    return full_nonce, salt, int(iterations)


_BOUNDS: Final = f"{ITERATIONS_MIN:,} to {ITERATIONS_MAX:,}"


def _check_signature(server_final: str, expected: bytes) -> None:
    fields = _fields(server_final)
    if "e" in fields:
        raise AuthenticationFailed(f"the broker refuses the user: {fields['e'][:100]!r}")
    if not hmac.compare_digest(_decoded(fields.get("v", ""), "signature"), expected):
        raise AuthenticationFailed(
            "the broker's signature is wrong: it does not know the key of the password"
        )


def _fields(message: str) -> dict[str, str]:
    """The attributes of a message, by their letters; the first of each counts."""
    found: dict[str, str] = {}
    for attribute in message.split(","):
        name, is_attribute, text = attribute.partition("=")
        if not is_attribute or len(name) != 1:
            raise AuthenticationFailed("the broker's SCRAM message is damaged or cut off")
        found.setdefault(name, text)
    return found


def _decoded(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise AuthenticationFailed(f"the broker's {what} is not in base64") from None


def _text(payload: bytes) -> str:
    try:
        return bytes(payload).decode()
    except UnicodeDecodeError:
        raise AuthenticationFailed("the broker's SCRAM message is not text") from None


def _escaped(username: str) -> str:
    return username.replace("=", "=3D").replace(",", "=2C")
