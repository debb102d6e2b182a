"""One operation on many elements (partitions, replicas, members), each of which has a result of its own.

    ask_each([a, b, c], requests, ...)
        requests([a, b, c])    Part([a, b], to broker 1), Part([c], to broker 2)
        a: done    b: not its leader    c: refused for good
        requests([b])          Part([b], to broker 3)
        b: done
        Results(found={a, b}, refused={c})

An element that is refused for a reason that passes is asked for again, without those that have a result, at
the broker that is the right one then. Invariant: each element is in `found` or in `refused`, never in both.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeAlias, TypeVar

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError, ElementsRefused
from odradek.base.ids import BrokerId
from odradek.client.core.operation import Operation, Pause, passes
from odradek.client.core.requests import Destination, Send, ToNode
from odradek.client.refusal import words_of
from odradek.wire.message import Message

ELEMENTS_MAX: Final = 1_000
"""In one request."""

E = TypeVar("E", bound=Hashable)
T = TypeVar("T")
R = TypeVar("R", bound=Message)


@dataclass(frozen=True, slots=True)
class Part(Generic[E]):
    """Elements that go to one broker in one request, or have no broker at this moment: `error` says why.

    They wait for one if the error passes, and are refused else.
    """

    elements: Sequence[E]
    send: Send | None
    error: ApiError | None = None


@dataclass(slots=True)
class Results(Generic[E, T]):
    """What became of each element."""

    found: dict[E, T] = field(default_factory=dict)
    refused: dict[E, ApiError] = field(default_factory=dict)

    def all_or_raise(self, done: str) -> dict[E, T]:
        """The results. Raises ElementsRefused for refused elements; `done` is the verb for the others."""
        if self.refused:
            raise ElementsRefused(self.refused, list(self.found), done)
        return self.found


Answered: TypeAlias = Iterable[tuple[E, int, str | None, T]]
"""(element, error code, the broker's words, result) of an answer."""
Requests: TypeAlias = Callable[[Sequence[E]], Operation[Sequence[Part[E]]]]
"""Places elements at brokers; it may ask for their places first."""


def ask_each(
    elements: Iterable[E],
    requests: Requests[E],
    kind: type[R],
    answered: Callable[[R, Sequence[E]], Answered[E, T]],
    *,
    passing: Callable[[ErrorCode], bool] = passes,
) -> Operation[Results[E, T]]:
    """Ask for each element until it has a result, or is refused for a reason that does not pass.

    `requests` places elements; `answered` reads an answer to a part's elements.
    """
    results: Results[E, T] = Results()
    left = list(dict.fromkeys(elements))
    pauses = 0
    while left:
        parts = yield from requests(left)
        waiting: list[tuple[Part[E], ApiError]] = []
        for part in parts:
            if part.error is not None and passing(part.error.code):
                waiting.append((part, part.error))
            elif part.error is not None:
                results.refused |= dict.fromkeys(part.elements, part.error)
        asked = [(part, part.send) for part in parts if part.send is not None]
        outcomes = (yield [send for _, send in asked]) if asked else ()
        why: list[ApiError] = [error for _, error in waiting]
        marks: list[tuple[Send, ErrorCode]] = []
        again: set[E] = {one for part, _ in waiting for one in part.elements}
        for (part, send), outcome in zip(asked, outcomes, strict=True):
            if outcome.error is not None:
                said: Answered[E, T | None] = [
                    (one, outcome.error.code, str(outcome.error), None) for one in part.elements
                ]
            else:
                said = answered(outcome.answer(kind), part.elements)
            missing = dict.fromkeys(part.elements)
            for element, error_code, message, result in said:
                if element not in missing:
                    continue  # not asked for, or said twice
                del missing[element]
                code = known_code(error_code)
                if code is ErrorCode.NONE:
                    results.found[element] = result  # type: ignore[assignment] # none without an error
                    continue
                error = _refusal(element, error_code, message)
                if _is_passing(outcome.error, code, passing):
                    why.append(error)
                    marks.append((send, code))
                    again.add(element)
                else:
                    results.refused[element] = error
            for element in missing:
                left_out = f"{element}: the broker's answer leaves it out"
                results.refused[element] = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, left_out)
        left = [one for one in left if one in again]
        if left:
            yield Pause(pauses, why[0], tuple(dict.fromkeys(marks)))
            pauses += 1
    return results


def at_nodes(node_of: Callable[[E], BrokerId], request: Callable[[Sequence[E]], Message]) -> Requests[E]:
    """`requests` for elements that belong to one broker each: one request to every broker."""

    def requests(left: Sequence[E]) -> Operation[Sequence[Part[E]]]:
        yield from ()  # nothing to ask before
        by_node: dict[BrokerId, list[E]] = defaultdict(list)
        for one in left:
            by_node[node_of(one)].append(one)
        return [Part(some, Send(ToNode(node), request(some))) for node, some in by_node.items()]

    return requests


def at_once(
    to: Destination,
    request: Callable[[Sequence[E]], Message],
    *,
    lowest: int = 0,
    most: int = ELEMENTS_MAX,
) -> Requests[E]:
    """`requests` for elements that all go to one place, at most so many in one request."""

    def requests(left: Sequence[E]) -> Operation[Sequence[Part[E]]]:
        yield from ()  # nothing to ask before
        some = (left[begin : begin + most] for begin in range(0, len(left), most))
        return [Part(part, Send(to, request(part), lowest=lowest)) for part in some]

    return requests


def _is_passing(error: ApiError | None, code: ErrorCode, passing: Callable[[ErrorCode], bool]) -> bool:
    """Whether to ask again: a connection that failed is judged as in every operation, too."""
    return passing(code) or (error is not None and passes(code))


def _refusal(element: Hashable, error_code: int, message: str | None) -> ApiError:
    return ApiError(known_code(error_code), f"{element}: {words_of(error_code, message)}")
