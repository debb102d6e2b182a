"""Work on records in steps (`base.execution`), so that the loop can serve other requests between them.

A step may yield a call that is too long for the loop; the work gets its result or exception:

    body = yield Away(call)

Only calls that release the interpreter lock run on another thread: decompression, compression, freeing
memory. `finish` does all steps at once, for callers without a loop.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from odradek.base.execution import Asking, exhaust
from odradek.base.values import value

T = TypeVar("T")


@value
class Away:
    """A call for another thread."""

    call: Callable[[], Any]
    # How much memory its result may take; held until the work gives its next such call away, or ends.
    bytes_max: int = 0


RecordSteps: TypeAlias = Asking[Away, Any, T]
"""Work on records that returns a T."""


def finish(steps: RecordSteps[T]) -> T:
    """Run all steps at once, with every call on this thread; raises what they raise."""
    return exhaust(steps, lambda away: away.call())
