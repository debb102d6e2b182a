"""Marks places where a browser may break a long name, so that a column of names does not squeeze the others.

<td><code>log.retention.hours</code></td>  ->  <td><code>log.<wbr>retention.<wbr>hours</code></td>
"""

import re
from typing import Final

_CELL: Final = re.compile(r"(?<=<td>).*?(?=</td>)|(?<=<th>).*?(?=</th>)", re.DOTALL)
# Text of a cell between two tags, and the end of a name's part in it (an entity such as &lt; has none).
_TEXT: Final = re.compile(r"(?:^|(?<=>))[^<]+")
_PART_END: Final = re.compile(r"(?<=[A-Za-z][._/,=:])(?=\w)")


def with_breaks_in_tables(html: str) -> str:
    """Return `html` with `<wbr>` behind each dot, slash, underscore, comma, equals sign and
    colon that follows a letter and precedes a word, in table cells."""
    return _CELL.sub(lambda cell: _TEXT.sub(lambda text: _PART_END.sub("<wbr>", text[0]), cell[0]), html)
