"""What keys and values of records are to an application, for type checkers: bytes, unless it says otherwise.

Producer("localhost:9092")                              a Producer[bytes, bytes]
Consumer("orders", value_deserializer=json.loads)       a Consumer[bytes, Any]
"""

from typing import TYPE_CHECKING

# Type parameters with defaults are in the standard library from Python 3.13 on. Type checkers bring the other
# module along; nothing of it is needed when a program runs.
if TYPE_CHECKING:
    from typing_extensions import TypeVar

    K = TypeVar("K", default=bytes)
    V = TypeVar("V", default=bytes)
else:
    from typing import TypeVar

    K = TypeVar("K")
    V = TypeVar("V")
