"""The topics that regular expressions match, looked up once for all groups of a broker.

Invariant: an expression looks at a topic's name once, however often other topics come and go, so that a
cluster in which topics are made all the time does not cost ten thousand matches each time.

    matching("t.*")     of t1, t2, u      looks at three names
    t3 is created       matching("t.*")   looks at one
"""

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.coordinator.consumer.topics import Topics

LOOKUPS_KEPT_MAX: Final = 32
"""How many expressions are remembered; others look at every name again."""

_NOTHING: Final[frozenset[str]] = frozenset()


class ExpressionLookup:
    """What is known of expressions on one broker."""

    __slots__ = ("_found", "_names", "_topics", "_version")

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        # All names, as of this version of the topics.
        self._names = _NOTHING
        self._version = -1
        # By expression, the least recently used first: the names that it looked at, and those that matched.
        self._found: dict[str, tuple[frozenset[str], frozenset[str]]] = {}

    def matching(self, expression: str) -> frozenset[str]:
        """The names that match as a whole. Raises ApiError, INVALID_REGULAR_EXPRESSION."""
        if self._version != self._topics.version:
            self._names, self._version = frozenset(self._topics.names()), self._topics.version
        looked_at, matched = self._found.pop(expression, (_NOTHING, _NOTHING))
        if looked_at is not self._names or not self._names:
            matched = (matched & self._names) | _matching(expression, self._names - looked_at)
        self._found[expression] = self._names, matched
        if len(self._found) > LOOKUPS_KEPT_MAX:
            del self._found[next(iter(self._found))]
        return matched


def _matching(expression: str, names: frozenset[str]) -> frozenset[str]:
    # RE2 is loaded when the first expression comes: most brokers never see one.
    from odradek.coordinator.consumer.regular_expressions import InvalidRegularExpression, matching

    try:
        return matching(expression, names)
    except InvalidRegularExpression as error:
        words = f"{expression!r} is no regular expression: {error}"
        raise ApiError(ErrorCode.INVALID_REGULAR_EXPRESSION, words) from None
