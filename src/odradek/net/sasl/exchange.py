"""What a SASL exchange asks of those that run it: an exchange is a generator of effects.

    Send(b"n,,n=ada,r=...")      send these bytes; continue with the server's answer
    Compute(derive)              call this where it may take time, not on a loop; continue with its result
    (it returns)                 both sides are authenticated
    AuthenticationFailed         they are not; nothing more may be sent on the connection

The messages of errors contain no secret.
"""

from collections.abc import Callable, Generator
from dataclasses import field
from typing import TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.values import value
from odradek.net.request_pipeline import ConnectionFailed


class AuthenticationFailed(ConnectionFailed):
    """Client and broker are not authenticated; `code` is the broker's, if it named one."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.SASL_AUTHENTICATION_FAILED) -> None:
        super().__init__(message, code)


@value
class Send:
    """The client's next message; the exchange continues with the server's answer to it."""

    payload: bytes = field(repr=False)


@value
class Compute:
    """A call that may take as long as a derived key or a token takes; the exchange continues with its
    result.
    """

    call: Callable[[], bytes]


Exchange: TypeAlias = Generator[Send | Compute, bytes, None]
