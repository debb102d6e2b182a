"""SASL OAUTHBEARER (RFC 7628): a token that somebody else gave out, which a Python callable supplies.

The token is fetched anew for each exchange, as `Compute`, because fetching may take time. A server that
refuses it says why in JSON, and gets the one byte that ends the exchange before it fails.
"""

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Final

from odradek.net.sasl.exchange import AuthenticationFailed, Compute, Exchange, Send

_SEPARATOR: Final = b"\x01"
_TOKEN: Final = re.compile(rb"[A-Za-z0-9._~+/-]+=*")
_REASON_SHOWN: Final = 200


def oauthbearer(token: Callable[[], str]) -> Exchange:
    """Ask to be whom the token names. If `token` raises, the authentication fails, caused by its
    exception.
    """
    fetched = yield Compute(partial(_fetched, token))
    refusal = yield Send(b"n,,%bauth=Bearer %b%b%b" % (_SEPARATOR, fetched, _SEPARATOR, _SEPARATOR))
    if refusal:
        yield Send(_SEPARATOR)
        raise AuthenticationFailed(f"the broker refuses the token: {_reason(bytes(refusal))}")


def _fetched(token: Callable[[], str]) -> bytes:
    try:
        found = token()
    except Exception as error:
        said = f"the token provider raised {type(error).__name__}: {error}"
        raise AuthenticationFailed(said) from error
    if not isinstance(found, str):
        raise AuthenticationFailed(f"the token provider returned {type(found).__name__}, not str")
    encoded = found.encode(errors="replace")
    if not _TOKEN.fullmatch(encoded):
        raise AuthenticationFailed("the token provider returned what is not a bearer token (RFC 6750)")
    return encoded


def _reason(refusal: bytes) -> str:
    try:
        said = json.loads(refusal)
    except (ValueError, RecursionError):
        return repr(refusal[:_REASON_SHOWN])
    status = said.get("status") if isinstance(said, dict) else None
    return repr(str(status if status else said)[:_REASON_SHOWN])
