"""Regular expressions of clients (KIP-848, KIP-1152): RE2's, as Apache Kafka's are, and what they may cost.

RE2 takes time proportional to the text, whatever the expression; in Python's own engine an expression of ten
characters could run for hours. In the worst case RE2's time is also proportional to the size of the
expression's program: a name of 200 characters against a program of 16,000 instructions takes 6 ms. So
programs are bounded, and names are matched in steps of a bounded cost:

    "flights.*" has 30 instructions     1,000 names of 15 characters in one step
    8,000 instructions                  one name in one step, of 3 ms at most

Kafka's RE2/J accepts these, which are refused here: expressions above PATTERN_CHARACTERS_MAX, nested counts
that repeat something more than 1,000 times, and programs with more than PROGRAM_INSTRUCTIONS_MAX. Kafka
refuses three that are accepted here: `\\C`, two groups of one name, and counts beyond 32 bits.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import re2

from odradek.base.execution import Steps

PATTERN_CHARACTERS_MAX: Final = 4_096
"""Longer expressions are refused."""
PATTERN_MEMORY_BYTES: Final = 512 << 10
"""The memory of one compiled expression: its program and the states that matching builds."""
PROGRAM_INSTRUCTIONS_MAX: Final = 8_192
"""The maximum size of a program: each character of a name costs a few ns per instruction."""
PATTERNS_KEPT_MAX: Final = 32
"""How many compiled expressions are cached; others are compiled again when needed."""
STEP_COST_MAX: Final = 500_000
"""The maximum of instructions times characters per step (a step has at least one name): a millisecond."""


class InvalidRegularExpression(Exception):
    """Not an expression of RE2's, or one that is too large; the message says why."""


def matching_in_steps(pattern: str, names: Iterable[str]) -> Steps[frozenset[str]]:
    """The names that match as a whole. Raises InvalidRegularExpression before the first step."""
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
        # The module itself caches 128 expressions, four times as many as wanted.
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
    # Otherwise RE2 logs every invalid expression of a client to standard error.
    options.log_errors = False
    # Matched groups are not used, and capturing them is slow.
    options.never_capture = True
    return options


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeEncodeError):
        return "it is not Unicode text"
    (reason,) = error.args
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
