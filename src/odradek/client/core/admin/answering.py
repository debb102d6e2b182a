"""Questions to brokers of which some may be away: who answers is heard, and who does not is named.

Others than in `operation`, a request whose connection fails is not sent again. A request that its broker
refuses for a reason that passes is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import BrokerId
from odradek.client.core.admin.operation import Operation, Pause, passes
from odradek.client.core.requests import Send
from odradek.client.refusal import known_code
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
    answers: dict[K, R] = {}
    silent: dict[K, ApiError] = {}
    pauses = 0
    while left := {key: replace(send) for key, send in sends.items() if key not in answers | silent}:
        outcomes = yield list(left.values())
        refused: list[tuple[Send, ApiError]] = []
        for key, outcome in zip(left, outcomes, strict=True):
            if outcome.error is not None:
                if not is_away(outcome.error):
                    raise outcome.error
                silent[key] = outcome.error
                continue
            answer = outcome.answer(kind)
            passing = [code for code in map(known_code, codes(answer)) if passes(code)]
            if passing:
                error = ApiError(passing[0], passing[0].name.lower().replace("_", " "))
                refused.append((outcome.send, error))
            else:
                answers[key] = answer
        if refused:
            yield Pause(pauses, refused[0][1], tuple((send, error.code) for send, error in refused))
            pauses += 1
    return answers, silent


def missing_of(silent: Mapping[BrokerId, ApiError]) -> Missing:
    """A sentence about each broker that did not answer."""
    return {broker: f"broker {broker} does not answer: {error}" for broker, error in sorted(silent.items())}


def is_away(error: ApiError) -> bool:
    """Whether a request failed because of its broker, not of what it asks for."""
    is_unknown = error.code is ErrorCode.BROKER_NOT_AVAILABLE
    return isinstance(error, ConnectionFailed) or error.code.is_retriable or is_unknown
