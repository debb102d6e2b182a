"""Reads columns of texts as moments and days by Arrow, where the outcome is that of `fields`.

Arrow and Python read the same texts of ISO 8601 alike, and each reads some that the other refuses. Read here
is the form that nearly all writers use; for a column with any other text the answer is None.
"""

from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_DAY: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME: Final = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_ZONED: Final = rf"^{_DAY}[T ]{_TIME}(Z|[+-][0-9]{{2}}:[0-9]{{2}})$"
_WITHOUT_ZONE: Final = rf"^{_DAY}[T ]{_TIME}$"
_MOMENT: Final = pa.timestamp("us", tz="UTC")
# Python has the years from 1 to 9999, Arrow others, too.
_FIRST: Final = datetime(1, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)


def moments(texts: Any) -> Any | None:
    """The texts as moments, in UTC where they name no zone; None if they have to be read one by one.

    Raises ArrowInvalid for a text of the right form that is no moment.
    """
    if _all_match(texts, _ZONED):
        found = texts.cast(_MOMENT)
    elif _all_match(texts, _WITHOUT_ZONE):
        found = texts.cast(pa.timestamp("us")).cast(_MOMENT)
    else:
        return None
    return found if _is_within(found, pa.scalar(_FIRST, _MOMENT), pa.scalar(_LAST, _MOMENT)) else None


def days(texts: Any) -> Any | None:
    """The texts as days; None and ArrowInvalid as of `moments`."""
    if not _all_match(texts, f"^{_DAY}$"):
        return None
    found = texts.cast(pa.date32())
    first, last = (pa.scalar(one.date(), pa.date32()) for one in (_FIRST, _LAST))
    return found if _is_within(found, first, last) else None


def _all_match(texts: Any, pattern: str) -> bool:
    """Whether each text that is not null has this form."""
    return pc.all(pc.match_substring_regex(texts, pattern)).as_py() is not False


def _is_within(found: Any, first: Any, last: Any) -> bool:
    within = pc.and_(pc.greater_equal(found, first), pc.less_equal(found, last))
    return pc.all(within).as_py() is not False
