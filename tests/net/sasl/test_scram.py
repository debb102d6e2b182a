"""SCRAM against scripted servers: RFC 7677's example, and each way in which a server's message can be
wrong.
"""

import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.net.sasl.exchange import AuthenticationFailed, Compute, Exchange, Send
from odradek.net.sasl.scram import HASHES, scram

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def begun() -> Exchange:
    """The RFC's exchange, after the client's first message."""
    exchange = scram("SCRAM-SHA-256", "user", "pencil", NONCE)
    assert next(exchange) == Send(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    return exchange


def proved() -> Exchange:
    """The RFC's exchange, after the client's proof."""
    exchange = begun()
    derive = exchange.send(SERVER_FIRST)
    assert isinstance(derive, Compute), "deriving the key takes long"
    proof = exchange.send(derive.call())
    assert proof == Send(
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    return exchange


def test_the_example_of_the_rfc() -> None:
    with pytest.raises(StopIteration):
        proved().send(SERVER_FINAL)


@pytest.mark.parametrize(
    ("server_first", "sentence"),
    [
        (b"r=another,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "nonce does not continue this client's"),
        (b"r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "nonce does not continue"),
        (SERVER_FIRST.replace(b"i=4096", b"i=4095"), "asks for 4,095 iterations, not for 4,096 to 1,000,000"),
        (SERVER_FIRST.replace(b"i=4096", b"i=1000001"), "asks for 1,000,001 iterations"),
        (SERVER_FIRST.replace(b"i=4096", b"i=99999999999999999999"), "number of iterations is not one from"),
        (SERVER_FIRST.replace(b"i=4096", b"i=-1"), "number of iterations is not one from"),
        (SERVER_FIRST.replace(b",i=4096", b""), "number of iterations is not one from"),
        (SERVER_FIRST.replace(b"W22ZaJ0SNY7soEsUEjb6gQ==", b""), "sent no salt"),
        (SERVER_FIRST.replace(b"W22ZaJ0SNY7soEsUEjb6gQ==", b"W22Z-J0"), "salt is not in base64"),
        (b"m=new," + SERVER_FIRST, "demands an extension"),
        (SERVER_FIRST[:-6], "damaged or cut off"),
        (b"", "damaged or cut off"),
        (b"\xff\xfe", "is not text"),
    ],
)
def test_a_wrong_challenge_is_refused_before_anything_is_derived(server_first: bytes, sentence: str) -> None:
    with pytest.raises(AuthenticationFailed, match=sentence):
        begun().send(server_first)


@pytest.mark.parametrize(
    ("server_final", "sentence"),
    [
        (b"v=AAAAAAAA23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", "signature is wrong"),
        (SERVER_FINAL[:-5] + b"=", "signature is"),
        (b"v=", "signature is wrong"),
        (b"e=invalid-proof", "refuses the user: 'invalid-proof'"),
        (b"", "damaged or cut off"),
    ],
)
def test_a_server_that_does_not_know_the_key_is_refused(server_final: bytes, sentence: str) -> None:
    with pytest.raises(AuthenticationFailed, match=sentence):
        proved().send(server_final)


def test_errors_do_not_show_the_password() -> None:
    with pytest.raises(AuthenticationFailed) as refused:
        proved().send(b"v=")
    assert "pencil" not in str(refused.value)


@pytest.mark.slow
@given(
    st.sampled_from(sorted(HASHES)),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
)
def test_a_server_that_knows_the_key_accepts_the_proof(mechanism: str, username: str, password: str) -> None:
    hash_name = HASHES[mechanism]
    exchange = scram(mechanism, username, password, NONCE)
    first = next(exchange)
    assert isinstance(first, Send)
    bare = first.payload.removeprefix(b"n,,")
    name = bare.decode().removeprefix("n=").rsplit(",r=", 1)[0]
    assert "," not in name
    assert name.replace("=2C", ",").replace("=3D", "=") == username
    server_first = f"r={NONCE}more,s={base64.b64encode(b'salt').decode()},i=4096".encode()
    derive = exchange.send(server_first)
    assert isinstance(derive, Compute)
    key = hashlib.pbkdf2_hmac(hash_name, password.encode(), b"salt", 4096)
    assert derive.call() == key
    final = exchange.send(key)
    assert isinstance(final, Send)
    unproved, proof = final.payload.rsplit(b",p=", 1)
    signed = b",".join([bare, server_first, unproved])
    stored = hashlib.new(hash_name, hmac.digest(key, b"Client Key", hash_name)).digest()
    signature = hmac.digest(stored, signed, hash_name)
    client_key = bytes(a ^ b for a, b in zip(base64.b64decode(proof), signature, strict=True))
    assert hashlib.new(hash_name, client_key).digest() == stored
    server = hmac.digest(hmac.digest(key, b"Server Key", hash_name), signed, hash_name)
    with pytest.raises(StopIteration):
        exchange.send(b"v=" + base64.b64encode(server))
