"""A decision: the answer for one subject of a request, and what must happen before it is sent.

`carrying_out` carries a decision out in this order: the writes in one atomic batch, fenced by the controller
epoch; then the changes to the image; then the orders to brokers; then the answer. Where the
writes fail, nothing of the decision happened and the subject is answered with the failure instead.
"""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeAlias, TypeVar

from odradek.base.values import value
from odradek.metadata.image import Change
from odradek.metadata.store import WriteOperation

R = TypeVar("R")


@value
class Put:
    """Make the node or replace its data, whichever is needed; `FencedWrites.commit` finds out which."""

    path: str
    data: bytes
    # Whether the node is most likely not there: then making it is tried before anything is looked up.
    is_likely_new: bool = False


DecidedWrite: TypeAlias = WriteOperation | Put


@value
class Decision(Generic[R]):
    """One subject decided; without writes it is a refusal or a validation only."""

    outcome: R
    writes: tuple[DecidedWrite, ...] = ()
    changes: tuple[Change, ...] = ()
    # Written after `writes`, in batches, each of pairs that belong together: what one write cannot hold.
    more_writes: Iterable[DecidedWrite] = ()


Decisions: TypeAlias = Iterator[Decision[R] | None]
"""One for each subject, in the request's order, made when it is asked for; None where a step ends."""
