"""Producer ids for idempotent producers: unique in the cluster, given out from blocks (KIP-730).

Invariant: an id is given once. Blocks come from the controller, wherever it is (R17); the next block is
requested when the current one is nearly used up, so that producers wait only for the first block.

A metadata store that was restored from an old copy gives out blocks again. A second producer with the id of
another would be refused, or its records would be taken for repeated ones. So a block is left out if this
broker's logs have one of its ids.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.execution import Later
from odradek.base.ids import BrokerId, ProducerId
from odradek.metadata.controller.producer_ids import PRODUCER_ID_BLOCK_SIZE
from odradek.metadata.controller.requests import AllocateProducerIds, Answer, ProducerIdBlock, Refused
from odradek.server.node.forwarding.any_controller import ControllerPort

_log = logging.getLogger(__name__)

ASK_AGAIN_FRACTION: Final = 0.1
WAITING_MAX: Final = 10_000


class ProducerIds:
    """This broker's supply of producer ids."""

    def __init__(
        self,
        broker_id: BrokerId,
        registered_epoch: Callable[[], int],
        controller: ControllerPort,
        in_logs: Iterable[ProducerId] = (),
    ) -> None:
        """`registered_epoch` returns the epoch of the broker's last registration.

        `in_logs` are the ids that producers in this broker's logs have at its start.
        """
        self._taken = frozenset(producer_id // PRODUCER_ID_BLOCK_SIZE for producer_id in in_logs)
        """The blocks of these ids, by number."""
        self._broker_id = broker_id
        self._registered_epoch = registered_epoch
        self._controller = controller
        # The ids in [next, end) may still be given out; empty before the first block.
        self._next: ProducerId = 0
        self._end: ProducerId = 0
        # The next block, if it arrived before this one was used up.
        self._spare: ProducerIdBlock | None = None
        # When fewer ids than this are left, another block is requested.
        self._low = 0
        self._asked = False
        # Callers that wait for an id, oldest first.
        self._waiting: deque[Later[ProducerId | ErrorCode]] = deque()

    def take(self, later: Later[ProducerId | ErrorCode]) -> ProducerId | ErrorCode | None:
        """Returns a producer id that is never given out again, or the error if there is none."""
        taken = self._next_id()
        self._ask_if_low()
        if taken is not None:
            return taken
        if len(self._waiting) >= WAITING_MAX:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        self._waiting.append(later)
        return None

    def _next_id(self) -> ProducerId | None:
        if not self._has_some():
            return None
        self._next += 1
        return self._next - 1

    def _ask_if_low(self) -> None:
        if self._end - self._next <= self._low and self._spare is None and not self._asked:
            self._asked = True
            wanted = AllocateProducerIds(self._broker_id, self._registered_epoch())
            self._controller.submit(wanted, self._on_answer)

    def _has_some(self) -> bool:
        if self._next == self._end and self._spare is not None:
            block, self._spare = self._spare, None
            self._next, self._end = block.first, block.first + block.count
            self._low = int(block.count * ASK_AGAIN_FRACTION)
        return self._next < self._end

    def _is_taken(self, block: ProducerIdBlock) -> bool:
        first, last = block.first, block.first + block.count - 1
        numbers = range(first // PRODUCER_ID_BLOCK_SIZE, last // PRODUCER_ID_BLOCK_SIZE + 1)
        return not self._taken.isdisjoint(numbers)

    def _on_answer(self, answer: Answer) -> None:
        self._asked = False
        if isinstance(answer, ProducerIdBlock) and self._is_taken(answer):
            last = answer.first + answer.count - 1
            _log.warning(
                "the producer ids %d to %d are left out, because a log has one of them: the metadata store"
                " looks like an old copy",
                answer.first,
                last,
            )
            self._ask_if_low()
            return
        if isinstance(answer, ProducerIdBlock):
            self._spare = answer
            while self._waiting and (taken := self._next_id()) is not None:
                self._waiting.popleft()(taken)
            self._ask_if_low()
            return
        assert isinstance(answer, Refused), answer
        waiting, self._waiting = self._waiting, deque()
        for later in waiting:
            later(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
