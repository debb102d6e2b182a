"""Keys and values in JSON: as text where they are text, in base64 where they are not, without loss."""

import base64


def bytes_fields(name: str, content: bytes | None, always_base64: bool = False) -> dict[str, str | None]:
    """`{"key": "text"}`, or `{"key_base64": "..."}` of bytes that are no UTF-8."""
    if content is None:
        return {name: None}
    if not always_base64:
        try:
            return {name: content.decode()}
        except UnicodeDecodeError:
            pass
    return {f"{name}_base64": base64.b64encode(content).decode()}
