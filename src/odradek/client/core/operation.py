"""One operation that an application waits for: a generator of requests and pauses that returns its result.

    [Send(...), Send(...)]         send these; continue with their outcomes, in the same order
    Pause(0, refused=[...])        wait for a backoff that rises with each number, then continue

Whoever runs an operation ends it at its deadline. Refusals that pass by themselves (a coordinator that loads,
a controller that moved, a broken connection) are not errors: the request is sent again, to where its broker
is then. A topic that is unknown is an error at once, although Kafka's protocol guide calls it retriable.

Invariant: an operation decides nothing by the time and keeps no state outside itself, so that it can be ended
at any of its yields.
"""

from collections.abc import Callable, Collection, Generator, Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, TypeVar

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError
from odradek.client.core.requests import Outcome, Send
from odradek.client.refusal import name_of
from odradek.wire.message import Message

FINAL: Final = frozenset(
    {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.CORRUPT_MESSAGE}
)
"""Retriable codes that end an operation."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait before requests are sent again."""

    number: int
    """How many pauses the operation has made in a row before this one."""
    error: ApiError
    """Why; what the operation fails with if its time is over."""
    refused: tuple[tuple[Send, ErrorCode], ...] = ()
    """The requests that were refused: their brokers may be the wrong ones."""


T = TypeVar("T")
K = TypeVar("K")
R = TypeVar("R", bound=Message)

Operation: TypeAlias = Generator[Sequence[Send] | Pause, Sequence[Outcome], T]


def passes(code: ErrorCode) -> bool:
    """Whether a refusal passes by itself."""
    return code.is_retriable and code not in FINAL


def within(send: Send, timeout_ms: int) -> Send:
    """The same request, with so much time; a request that tells brokers its time tells this one.

    As Kafka's admin client does: a broker that waits for others answers before its caller has given up.
    """
    request = copy(send.request)
    if hasattr(request, "timeout_ms"):
        request.timeout_ms = timeout_ms
    return replace(send, request=request, timeout_ms=timeout_ms)


def only(entries: Sequence[T], about: str, *, name: str | None = None, named: str = "") -> T:
    """The one entry of an answer about one thing, whose field `named` is this name where there is one.

    Raises ApiError if the answer has none, or several, or one about another thing.
    """
    if len(entries) != 1:
        said = f"{about}: the broker's answer has {len(entries)} entries instead of one"
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, said)
    (entry,) = entries
    if name is not None and getattr(entry, named) != name:
        said = f"{about}: the broker's answer is about {getattr(entry, named)!r}"
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, said)
    return entry


def check_all_told(asked: Iterable[Hashable], told: Collection[Hashable]) -> None:
    """Raise ApiError for the first thing that an answer leaves out: a change of it may not have been made."""
    for one in asked:
        if one not in told:
            said = f"{one}: the broker's answer leaves it out"
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, said)


def ask(send: Send, kind: type[R], codes: Callable[[R], Sequence[int]]) -> Operation[R]:
    """The answer to one request, asked again while `codes`, those of the answer, contains one that passes.

    The answer may contain other refusals. Raises ApiError if there is none.
    """
    (answer,) = yield from ask_all([send], kind, codes)
    return answer


def ask_all(sends: Sequence[Send], kind: type[R], codes: Callable[[R], Sequence[int]]) -> Operation[list[R]]:
    """`ask` for several requests at once; those that are refused are asked again, the others are not."""
    answers, _ = yield from ask_by_key(dict(enumerate(sends)), kind, codes)
    return [answers[number] for number in range(len(sends))]


def ask_by_key(
    sends: Mapping[K, Send],
    kind: type[R],
    codes: Callable[[R], Sequence[int]],
    *,
    gives_up: Callable[[ApiError], bool] = lambda error: False,
) -> Operation[tuple[dict[K, R], dict[K, ApiError]]]:
    """`ask_all`; also the errors of requests that failed in a way for which `gives_up` asks nothing again."""
    answers: dict[K, R] = {}
    given_up: dict[K, ApiError] = {}
    pauses = 0
    # A request is compared by identity, and each of them has one outcome.
    while left := {
        key: replace(send) for key, send in sends.items() if key not in answers and key not in given_up
    }:
        outcomes = yield list(left.values())
        refused: list[tuple[Send, ApiError]] = []
        for key, outcome in zip(left, outcomes, strict=True):
            error = outcome.error
            if error is None:
                answer = outcome.answer(kind)
                passing = [code for code in map(known_code, codes(answer)) if passes(code)]
                if not passing:
                    answers[key] = answer
                    continue
                error = ApiError(passing[0], name_of(passing[0]))
            elif gives_up(error):
                given_up[key] = error
                continue
            elif not passes(error.code):
                raise error
            refused.append((outcome.send, error))
        if refused:
            marks = tuple((send, error.code) for send, error in refused)
            yield Pause(pauses, refused[0][1], marks)
            pauses += 1
    return answers, given_up
