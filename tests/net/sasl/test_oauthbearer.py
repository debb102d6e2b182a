"""OAUTHBEARER: the token that a callable supplies, and what the broker says to it."""

from collections.abc import Callable
from typing import Any

import pytest

from odradek.net.sasl.exchange import AuthenticationFailed, Compute, Send
from odradek.net.sasl.oauthbearer import oauthbearer


def fetched(provider: Callable[[], Any]) -> bytes:
    compute = next(oauthbearer(provider))
    assert isinstance(compute, Compute), "a provider may take long"
    return compute.call()


def test_the_token_is_sent_as_the_rfc_says() -> None:
    exchange = oauthbearer(lambda: "a.b-c~d+e/f==")
    compute = next(exchange)
    assert isinstance(compute, Compute)
    assert exchange.send(compute.call()) == Send(b"n,,\x01auth=Bearer a.b-c~d+e/f==\x01\x01")
    with pytest.raises(StopIteration):
        exchange.send(b"")


@pytest.mark.parametrize(
    ("refusal", "shown"),
    [
        (b'{"status":"invalid_token","scope":"x"}', "'invalid_token'"),
        (b"[1]", r"'\[1\]'"),
        (b"no json", "b'no json'"),
        (b"[" * 100_000, r"b'\[\["),
    ],
)
def test_a_refusal_is_shown_after_the_exchange_is_ended(refusal: bytes, shown: str) -> None:
    exchange = oauthbearer(lambda: "token")
    next(exchange)
    exchange.send(b"token")
    assert exchange.send(refusal) == Send(b"\x01")
    with pytest.raises(AuthenticationFailed, match=f"refuses the token: {shown}"):
        exchange.send(b"")


@pytest.mark.parametrize("token", ["", "with space", "two\x01parts", "naïve", "=="])
def test_what_is_not_a_token_is_not_sent(token: str) -> None:
    with pytest.raises(AuthenticationFailed, match="not a bearer token") as refused:
        fetched(lambda: token)
    assert token == "" or repr(token) not in str(refused.value)


def test_a_provider_that_fails_is_the_cause() -> None:
    def fail() -> str:
        raise LookupError("no vault")

    with pytest.raises(AuthenticationFailed, match="token provider raised LookupError: no vault") as failed:
        fetched(fail)
    assert isinstance(failed.value.__cause__, LookupError)


def test_a_provider_that_returns_bytes_is_told_so() -> None:
    with pytest.raises(AuthenticationFailed, match="returned bytes, not str"):
        fetched(lambda: b"token")
