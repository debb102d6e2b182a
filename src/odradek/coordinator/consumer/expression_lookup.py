"""The topics that regular expressions match, looked up once for all groups of a broker.

Invariant: an expression is matched against a topic's name once, however often other topics are created or
deleted, so frequent topic creation does not cost ten thousand matches each time.

    matching("t.*")     of t1, t2, u      looks at three names
    t3 is created       matching("t.*")   looks at one

One match may take a millisecond, and there may be many names: `look_up` works in steps, before the heartbeat
that needs the result. Then `matching` only has to match topics created since the last step.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.execution import Steps, exhaust
from odradek.coordinator.consumer.topics import Topics

LOOKUPS_KEPT_MAX: Final = 32
"""How many expressions are cached, besides those of the next heartbeat."""

_NOTHING: Final[frozenset[str]] = frozenset()


class ExpressionLookup:
    """The cached matches of one broker's expressions."""

    __slots__ = ("_found", "_in_order", "_names", "_topics", "_version")

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        # All names, as of this version of the topics; in order, so that steps are the same in every process.
        self._names = _NOTHING
        self._in_order: tuple[str, ...] = ()
        self._version = -1
        # By expression, the least recently used first: the names that it looked at, and those that matched.
        self._found: dict[str, tuple[frozenset[str], frozenset[str]]] = {}

    def is_due(self, expressions: Iterable[str]) -> bool:
        """Whether any of them has unmatched names."""
        self._take_names()
        found, names = self._found, self._names
        return any(found.get(expression, (None,))[0] is not names for expression in expressions)

    def look_up(self, expressions: Sequence[str]) -> Steps[None]:
        """Match these against the names that are new to them, in steps; invalid expressions are skipped."""
        for expression in expressions:
            try:
                yield from self._look_up(expression, LOOKUPS_KEPT_MAX + len(expressions))
            except ApiError:
                continue

    def matching(self, expression: str) -> frozenset[str]:
        """The names that match as a whole. Raises ApiError(INVALID_REGULAR_EXPRESSION)."""
        return exhaust(self._look_up(expression, max(LOOKUPS_KEPT_MAX, len(self._found))))

    def _look_up(self, expression: str, kept_max: int) -> Steps[frozenset[str]]:
        self._take_names()
        names, in_order = self._names, self._in_order
        looked_at, matched = self._found.get(expression, (_NOTHING, _NOTHING))
        if looked_at is not names or not names:
            new = (name for name in in_order if name not in looked_at)
            matched = (matched & names) | (yield from _matching(expression, new))
        self._found.pop(expression, None)
        self._found[expression] = names, matched
        while len(self._found) > kept_max:
            del self._found[next(iter(self._found))]
        return matched

    def _take_names(self) -> None:
        if self._version != self._topics.version:
            self._in_order, self._version = tuple(self._topics.names()), self._topics.version
            self._names = frozenset(self._in_order)


def _matching(expression: str, names: Iterable[str]) -> Steps[frozenset[str]]:
    # RE2 is loaded when the first expression comes: most brokers never see one.
    from odradek.coordinator.consumer import regular_expressions

    try:
        return (yield from regular_expressions.matching_in_steps(expression, names))
    except regular_expressions.InvalidRegularExpression as error:
        words = f"{expression!r} is no regular expression: {error}"
        raise ApiError(ErrorCode.INVALID_REGULAR_EXPRESSION, words) from None
