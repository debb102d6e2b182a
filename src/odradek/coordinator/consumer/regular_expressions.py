"""Regular expressions of clients (KIP-848, KIP-1152): RE2's, as Apache Kafka's are, and what they may cost.

RE2 takes time proportional to the text, whatever the expression; Python's own engine could be kept busy for
hours by ten characters. But the factor is the size of the expression's program, where RE2 finds no short way:
a name of 200 characters against a program of 16,000 instructions takes 6 ms. So programs are bounded, and
names are matched in steps of a bounded cost:

    "flights.*" has 30 instructions     1,000 names of 15 characters in one step
    8,000 instructions                  one name in one step, of 3 ms at most

Compared with Kafka's RE2/J, these are refused here alone: those above PATTERN_CHARACTERS_MAX, those that
repeat something more than 1,000 times in nested counts, and those whose program has more than
PROGRAM_INSTRUCTIONS_MAX. Three are taken here alone: `\\C`, two groups of one name, counts beyond 32 bits.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import re2

from odradek.base.execution import Steps, exhaust

PATTERN_CHARACTERS_MAX: Final = 4_096
"""What is longer is not compiled."""
PATTERN_MEMORY_BYTES: Final = 512 << 10
"""What one compiled expression may take, its program and the states that matching it builds."""
PROGRAM_INSTRUCTIONS_MAX: Final = 8_192
"""What a program may have: each character of a name costs a few ns for each of them."""
PATTERNS_KEPT_MAX: Final = 32
"""How many stay compiled; more than that are compiled anew when they are needed."""
STEP_COST_MAX: Final = 500_000
"""Instructions times characters that are matched in one step, or one name: a millisecond at worst."""


class InvalidRegularExpression(Exception):
    """Not an expression of RE2's, or one that is too large; the message says why."""


def matching(pattern: str, names: Iterable[str]) -> frozenset[str]:
    """The names that match as a whole. Raises InvalidRegularExpression."""
    return exhaust(matching_in_steps(pattern, names))


def matching_in_steps(pattern: str, names: Iterable[str]) -> Steps[frozenset[str]]:
    """The same for very many names; raises before the first step."""
    expression = compiled(pattern)
    matches, instructions = expression.fullmatch, expression.programsize
    found, cost = [], 0
    for name in names:
        if cost > STEP_COST_MAX:
            yield
            cost = 0
        cost += instructions * (len(name) + 1)
        if matches(name) is not None:
            found.append(name)
    return frozenset(found)


@lru_cache(PATTERNS_KEPT_MAX)
def compiled(pattern: str) -> "re2._Regexp":
    """The expression, compiled. Raises InvalidRegularExpression."""
    if len(pattern) > PATTERN_CHARACTERS_MAX:
        words = f"it has {len(pattern)} characters, and {PATTERN_CHARACTERS_MAX} are allowed"
        raise InvalidRegularExpression(words)
    try:
        expression = re2.compile(pattern, _options())
    except (re2.error, UnicodeEncodeError) as error:
        raise InvalidRegularExpression(_reason(error)) from None
    finally:
        # The module keeps 128 expressions of its own accord, four times as many as are wanted.
        re2.purge()
    if expression.programsize > PROGRAM_INSTRUCTIONS_MAX:
        words = (
            f"its program has {expression.programsize} instructions, too large: {PROGRAM_INSTRUCTIONS_MAX}"
        )
        raise InvalidRegularExpression(f"{words} are allowed")
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
