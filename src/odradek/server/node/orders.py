"""The controller's orders to this broker: obeyed one after another, each in slices.

An order that names ten thousand partitions makes ten thousand logs. It is obeyed as that many orders for one
partition each, and others are served in between; the next order waits until this one is done.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import TypeAlias

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.metadata.messages import BrokerMessage, parts_of
from odradek.server.edge.context import Steps
from odradek.server.node.slices import Slices

Errors: TypeAlias = Mapping[TopicPartition, ErrorCode]
Obey: TypeAlias = Callable[[BrokerMessage], Errors]

_log = logging.getLogger(__name__)


class Orders:
    """The orders that were given and are not obeyed yet."""

    __slots__ = ("_is_at_work", "_obey", "_slices", "_waiting")

    def __init__(self, obey: Obey, slices: Slices) -> None:
        self._obey = obey
        """Obeys a small order at once, and returns the errors of its partitions."""
        self._slices = slices
        # Oldest first; the first is being obeyed while `_is_at_work`.
        self._waiting: deque[tuple[BrokerMessage, Callable[[Errors], None]]] = deque()
        self._is_at_work = False

    def take(self, message: BrokerMessage, obeyed: Callable[[Errors], None]) -> None:
        """Obey an order after all earlier ones; `obeyed` is called once, with its partitions' errors."""
        self._waiting.append((message, obeyed))
        if not self._is_at_work:
            self._is_at_work = True
            self._slices.run(self._steps(), self._failed)

    def _steps(self) -> Steps:
        while self._waiting:
            message, obeyed = self._waiting[0]
            errors: dict[TopicPartition, ErrorCode] = {}
            for part in parts_of(message):
                errors.update(self._obey(part))
                yield
            self._waiting.popleft()
            obeyed(errors)
        self._is_at_work = False

    def _failed(self, error: Exception) -> None:
        """Our own mistake: the order stays without an answer, the next ones are obeyed."""
        message, _ = self._waiting.popleft()
        _log.error("%s could not be obeyed", type(message).__name__, exc_info=error)
        self._slices.run(self._steps(), self._failed)
