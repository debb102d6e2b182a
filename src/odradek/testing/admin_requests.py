"""One request to the admin listener of a broker in another process."""

import json
from http import HTTPStatus
from http.client import HTTPConnection
from typing import Any, Final

from odradek.base.errors import FaultRefused, OdradekError

TIMEOUT_S: Final = 30.0


def asked_admin(address: str, path: str, content: bytes | None = None, absent: str = "") -> Any:  # noqa: ANN401 - JSON
    """Returns the document that is answered; `content` is posted, None gets.

    Raises FaultRefused, and OdradekError for other refusals and if nobody answers, with `absent` for a 404.
    """
    connection = HTTPConnection(address, timeout=TIMEOUT_S)
    try:
        connection.request(
            "GET" if content is None else "POST", path, content, {"Content-Type": "application/json"}
        )
        answer = connection.getresponse()
        document = json.load(answer)
    except OSError as error:
        raise OdradekError(f"the broker does not answer at {address}: {error}") from None
    finally:
        connection.close()
    if absent and answer.status == HTTPStatus.NOT_FOUND:
        raise OdradekError(absent)
    if answer.status != HTTPStatus.OK:
        kind = FaultRefused if answer.status == HTTPStatus.BAD_REQUEST else OdradekError
        raise kind(document["error"])
    return document
