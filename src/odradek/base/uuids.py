"""UUIDs as Kafka writes them, in files and to people: URL-safe base 64 without padding."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from uuid import UUID

_CHARACTERS = 22


def render_uuid(value: UUID) -> str:
    """`kLtQrzhAQF2QbFeMyfaFQg`."""
    return urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def parse_uuid(text: str) -> UUID | None:
    """The UUID of such a text, or None."""
    if len(text) != _CHARACTERS or not text.isascii():
        return None
    try:
        return UUID(bytes=urlsafe_b64decode(text + "=="))
    except ValueError:
        return None
