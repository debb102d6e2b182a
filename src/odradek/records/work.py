"""Work on records in steps, so that the loop can serve other connections between them.

Work is a generator, which returns its result. A step ends at a `yield`, and takes well below a millisecond:

    yield None          there is more to do
    body = yield Away   a call that is too long for the loop; what it returns or raises comes back here

Only calls that release the interpreter lock run on another thread: decompression, compression, freeing
memory. `finish` does all steps at once, for callers without a loop.
"""

from collections.abc import Callable, Generator
from typing import Any, TypeAlias, TypeVar

from odradek.base.values import value

T = TypeVar("T")


@value
class Away:
    """A call for another thread."""

    call: Callable[[], Any]
    # How much memory its result may take; held until the work gives its next such call away, or ends.
    bytes_max: int = 0


Work: TypeAlias = Generator[Away | None, Any, T]
"""Work that returns a T; see the module's head."""


def finish(work: Work[T]) -> T:
    """Do all steps at once, on this thread; raises what they raise."""
    given: Any = None
    error: Exception | None = None
    while True:
        try:
            step = work.send(given) if error is None else work.throw(error)
        except StopIteration as done:
            result: T = done.value
            return result
        given, error = None, None
        if step is not None:
            try:
                given = step.call()
            except Exception as raised:
                error = raised
