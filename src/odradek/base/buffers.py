"""The types that hold bytes: what is read from sockets and files, and written to them."""

from typing import TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview
