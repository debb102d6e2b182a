"""An idempotent producer with acks=all to one partition, several batches in flight, sent again until they are
acknowledged.

    window [7 8 9] sent        7 acknowledged, 8 unanswered, 9 refused (sequence 8 is missing)
    window [8 9 10] sent       the broker answers 8, which it has, as a success

Before the first acknowledgement under a producer id only one batch is in flight: of a producer that it does
not know a partition takes any sequence first, here as in Kafka, and then refuses the earlier ones.

A batch leaves the window acknowledged, or with its producer id: after an error that cannot be retried the
producer starts again with another id, and what became of the batches in the window is unknown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Any, Final

from odradek.base.error_codes import ErrorCode
from odradek.testing.sim.trial.cluster_client import ClusterClient
from odradek.testing.sim.trial.history import ACKS_ALL, Place, SentBatch
from odradek.testing.sim.trial.load import Load
from odradek.testing.sim.trial.scripts import Script, Wait
from odradek.testing.sim.trial.workloads.plain_producer import encoded, outcomes_of, produce_request
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.messages.produce import ProduceResponse

RECORDS_MAX: Final = 4
WINDOW_MAX: Final = 3
ATTEMPTS_MAX: Final = 400
"""How often the head of the window is sent before the producer takes another partition."""
LOST_PRODUCER: Final = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID)
"""The answers to a batch whose predecessors the partition does not hold."""


class IdempotentProducer:
    """Its records come exactly once and in order."""

    def __init__(self, load: Load, client: ClusterClient, pause_ms: int) -> None:
        """`pause_ms` is the longest pause between two windows."""
        self._load = load
        self._client = client
        self._pause_ms = pause_ms
        self._producer_id = -1
        self._producer_epoch = -1
        self._next_sequence = 0
        # Whether a batch under this producer id is acknowledged.
        self._is_known = False
        # Not acknowledged yet, oldest first, each with its base sequence.
        self._window: deque[tuple[SentBatch, int]] = deque()

    def run(self) -> Script:
        """Produces until the load ends, to one partition after another."""
        load, client = self._load, self._client
        while not load.is_ending:
            yield from client.refresh()
            places = [place for place in client.places() if not load.is_keyed(place)]
            if places and (yield from self._begin()):
                yield from self._produce_to(load.pick(places), load.between(10, 200))

    def _begin(self) -> Generator[Wait[Any], Any, bool]:
        """Get a producer id; returns whether there is one."""
        load = self._load
        self._window.clear()
        request = InitProducerIdRequest(None, 60_000)
        response: InitProducerIdResponse | None = yield self._client.ask(load.pick(load.broker_ids), request)
        if response is None or response.error_code != ErrorCode.NONE:
            return False
        self._producer_id, self._producer_epoch = response.producer_id, response.producer_epoch
        self._next_sequence = 0
        self._is_known = False
        return True

    def _produce_to(self, place: Place, batches: int) -> Script:
        load, client = self._load, self._client
        attempts = 0
        while batches or self._window:
            yield load.pause(self._pause_ms)
            if load.is_ending and attempts:
                return
            window_max = load.between(1, WINDOW_MAX) if self._is_known else 1
            while batches and not load.is_ending and len(self._window) < window_max:
                batches -= 1
                self._window.append(self._next_batch(place))
            leader = client.leader_of(place)
            if leader is None or not self._window:
                yield from client.refresh()
                attempts += 1
            else:
                before = len(self._window)
                if not (yield from self._send_window(leader)):
                    return
                attempts = 0 if len(self._window) < before else attempts + 1
            if attempts > ATTEMPTS_MAX or (attempts > 5 and place not in client.places()):
                return

    def _next_batch(self, place: Place) -> tuple[SentBatch, int]:
        load = self._load
        name = f"{self._client.name}/{self._producer_id}"
        batch = load.history.next_batch(
            place, name, load.between(1, RECORDS_MAX), ACKS_ALL, load.now_ms, is_idempotent=True
        )
        sequence = self._next_sequence
        self._next_sequence += batch.count
        return batch, sequence

    def _send_window(self, leader: int) -> Generator[Wait[Any], Any, bool]:
        """Send the window, each batch as a request; returns whether the producer id can still be used."""
        load = self._load
        waits = [
            self._client.ask(
                leader, produce_request([batch], [self._encoded(batch, sequence)], ACKS_ALL, load)
            )
            for batch, sequence in self._window
        ]
        is_first, is_usable = True, True
        for wait in waits:
            response: ProduceResponse | None = yield wait
            batch = self._window[0][0] if is_first else None
            is_first, is_usable = self._note(response, is_first, is_usable, batch)
        if not is_first:
            yield from self._client.refresh()
        return is_usable

    def _encoded(self, batch: SentBatch, sequence: int) -> bytes:
        return encoded(
            self._load,
            batch,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=sequence,
        )

    def _note(
        self, response: ProduceResponse | None, is_head: bool, is_usable: bool, head: SentBatch | None
    ) -> tuple[bool, bool]:
        """Note one outcome; returns whether the next batch is the head, and whether the id can be used."""
        load = self._load
        if response is None:
            return False, is_usable
        ((code, base_offset),) = outcomes_of(response).values()
        load.history.note_error(code)
        if head is None:  # one before it has to be sent again, and so has this
            return False, is_usable
        if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            load.history.note_acknowledged(head, base_offset if code is ErrorCode.NONE else -1, load.now_ms)
            self._window.popleft()
            self._is_known = True
            return True, is_usable
        if code in LOST_PRODUCER:
            load.history.contradict(
                head.place,
                f"{load.now_ms:,} ms: {head.place} answered {code.name} to the batch of record {head.first}"
                f" of {head.producer}, although all batches before it are acknowledged",
            )
            return False, False
        return False, is_usable and code.is_retriable
