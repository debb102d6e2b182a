"""Topics by regular expression (KIP-848): RE2's, as Apache Kafka's are.

RE2 takes time proportional to the text, whatever the expression; Python's own engine could be kept busy for
hours by ten characters. Compared with Kafka's RE2/J, two kinds are refused here alone: those that repeat
something more than 1,000 times in nested counts, and those whose program is larger than a fourth of
PATTERN_MEMORY_BYTES. Three are taken here alone: `\\C`, two groups of one name, and counts beyond 32 bits.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import re2

PATTERN_MEMORY_BYTES: Final = 4 << 20
"""What one compiled expression may take, its program and the states that matching it builds."""
PATTERNS_KEPT_MAX: Final = 32
"""How many stay compiled; more than that are compiled anew when they are needed."""


class InvalidRegularExpression(Exception):
    """Not an expression of RE2's, or one that is too large; the message says why."""


def matching(pattern: str, topics: Iterable[str]) -> frozenset[str]:
    """The topics whose whole name matches. Raises InvalidRegularExpression."""
    matches = compiled(pattern).fullmatch
    return frozenset(topic for topic in topics if matches(topic) is not None)


@lru_cache(PATTERNS_KEPT_MAX)
def compiled(pattern: str) -> "re2._Regexp":
    """The expression, compiled. Raises InvalidRegularExpression."""
    try:
        expression = re2.compile(pattern, _options())
    except (re2.error, UnicodeEncodeError) as error:
        raise InvalidRegularExpression(_reason(error)) from None
    # The module keeps 128 expressions of its own accord, four times as many as are wanted.
    re2.purge()
    return expression


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = PATTERN_MEMORY_BYTES
    # Else every bad expression of a client's goes to standard error.
    options.log_errors = False
    # Nobody asks what the groups matched, and finding out is slow.
    options.never_capture = True
    return options


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeEncodeError):
        return "it is not Unicode text"
    (reason,) = error.args
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
