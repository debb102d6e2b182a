"""Keys and values in JSON, without loss: UTF-8 as text, other bytes in base64."""

import base64


def bytes_fields(name: str, content: bytes | None, always_base64: bool = False) -> dict[str, str | None]:
    """Returns `{"key": "text"}`, or `{"key_base64": "..."}` for bytes that are not UTF-8."""
    if content is None:
        return {name: None}
    if not always_base64:
        try:
            return {name: content.decode()}
        except UnicodeDecodeError:
            pass
    return {f"{name}_base64": base64.b64encode(content).decode()}
