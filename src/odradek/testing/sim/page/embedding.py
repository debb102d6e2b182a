"""JSON inside HTML: whatever a client sent, it stays data."""

import json
from typing import Any, Final

_ESCAPED: Final = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", 0x7F: "\\u007f"}


def embedded_json(document: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    """Returns JSON in ASCII that contains none of `<`, `>` and `&`.

    So it contains no `</script>`, no comment and no entity. Control characters and those that end lines in
    scripts are escaped by `json`.
    """
    return json.dumps(document, ensure_ascii=True, separators=(",", ":")).translate(_ESCAPED)
