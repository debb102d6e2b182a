"""Questions to brokers of which some may be away: who answers is heard, and who does not is named.

Others than in `operation`, a request whose connection fails is not sent again. A request that its broker
refuses for a reason that passes is.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import BrokerId
from odradek.client.core.operation import Operation, ask_by_key
from odradek.client.core.requests import Send
from odradek.net.request_pipeline import ConnectionFailed
from odradek.wire.message import Message

K = TypeVar("K")
R = TypeVar("R", bound=Message)

Missing: TypeAlias = dict[BrokerId, str]
"""The brokers that do not answer, each with a sentence that says why."""


def ask_those_there(
    sends: Mapping[K, Send], kind: type[R], codes: Callable[[R], Sequence[int]]
) -> Operation[tuple[dict[K, R], dict[K, ApiError]]]:
    """The answers, and the errors of those that cannot be reached or do not answer.

    An answer may contain refusals that do not pass: see `ask` in `operation`.
    """
    return (yield from ask_by_key(sends, kind, codes, gives_up=is_away))


def missing_of(silent: Mapping[BrokerId, ApiError]) -> Missing:
    """A sentence about each broker that did not answer."""
    return {broker: f"broker {broker} does not answer: {error}" for broker, error in sorted(silent.items())}


def is_away(error: ApiError) -> bool:
    """Whether a request failed because of its broker, not of what it asks for."""
    is_unknown = error.code is ErrorCode.BROKER_NOT_AVAILABLE
    return isinstance(error, ConnectionFailed) or error.code.is_retriable or is_unknown
