"""The admin client of the commands: one that waits too long says on the error output what for.

    with patient_admin(client_config(options)) as admin:
        topics = admin.carry_out(describe_topics())

    odradek: there has been no answer for 3 s: none of 127.0.0.1:9092 has answered or refused

One notice is printed for each operation that waits; the standard output has the command's result alone.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from odradek.cli.waiting import WaitingNotice
from odradek.client import administering
from odradek.client.configuration import ClientConfig
from odradek.client.core.operation import Operation
from odradek.client.core.waiting import Cause

if TYPE_CHECKING:
    from odradek.client.aio import operations as aio
    from odradek.client.blocking.operations import Operations

T = TypeVar("T")

_NO_REASON: Final = frozenset({Cause.REQUEST, Cause.CLOSED})
"""Causes that do not say why there is no answer yet."""


@contextmanager
def patient_admin(config: ClientConfig) -> Iterator[administering.Admin]:
    """Like `administering`, with the notice. Raises what that raises."""
    with administering.opened(administering.admin_settings(config)) as opened:
        admin = WaitingAdmin(opened, config.bootstrap_servers)
        with WaitingNotice(admin, again_s=math.inf):
            admin.reach()
            yield admin


class WaitingAdmin:
    """Hands operations on, and knows what it waits for meanwhile; that may be read by another thread."""

    def __init__(self, admin: "Operations[aio.Operations]", servers: str) -> None:
        """`servers` are those that it reaches the cluster by."""
        self._admin = admin
        self._servers = servers
        # Whether one of the servers has answered.
        self._is_reached = False
        # Since when an operation is under way; None while none is.
        self._since_s: float | None = None

    @property
    def waiting_since_s(self) -> float | None:
        """Since when the operation waits, by `time.monotonic`; None while there is none."""
        return self._since_s

    @property
    def subject(self) -> str:
        """What is said to last."""
        return "there has been no answer"

    @property
    def obstacle(self) -> str:
        """What keeps the operation from ending; "" if that is not known."""
        if not self._is_reached:
            return f"none of {self._servers} has answered or refused"
        causes = self._admin.why()
        return str(causes[0]) if causes and causes[0].cause not in _NO_REASON else ""

    def reach(self) -> None:
        """Find a broker that answers. Raises ConnectionFailed."""
        self._since_s = time.monotonic()
        try:
            self._admin.reach()
        finally:
            self._since_s = None
        self._is_reached = True

    def carry_out(self, operation: Operation[T]) -> T:
        """See `administering.Admin`."""
        self._since_s = time.monotonic()
        try:
            return self._admin.carry_out(operation)
        finally:
            self._since_s = None
