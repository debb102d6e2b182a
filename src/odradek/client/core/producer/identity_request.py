"""How an idempotent producer without transactions gets its id: InitProducerId, one request at a time.

due(10)                             InitProducerId, to any broker
outcome(NOT_COORDINATOR, 20)        due(20): nothing; due(130), after the backoff: InitProducerId
outcome(id 7, epoch 0, 140)         the identity is known; due: nothing
"""

from typing import Final

from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError
from odradek.client.core.backoff import Backoff
from odradek.client.core.producer.identity import Identity
from odradek.client.core.requests import Outcome, Send, ToAny
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

_LONGEST_MS: Final = 0x7FFFFFFF
"""Without transactions the timeout means nothing; Kafka's producer sends this one."""


class IdentityRequest:
    """See the module."""

    def __init__(self, identity: Identity, backoff: Backoff, timeout_ms: int) -> None:
        self._identity = identity
        self._backoff = backoff
        self._timeout_ms = timeout_ms
        # The request under way; None while there is none.
        self._under_way: Send | None = None
        # When it may be sent, and how many times in a row no id was given.
        self._not_before_ms = 0
        self._failures = 0
        self.error: ApiError | None = None
        """Why the last request gave no id; None if it did."""

    def due(self, now_ms: int) -> list[Send]:
        """The request, if an id is needed and it may be sent now."""
        if self._identity.is_known or self._under_way is not None or now_ms < self._not_before_ms:
            return []
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=_LONGEST_MS)
        self._under_way = Send(ToAny(), request, timeout_ms=self._timeout_ms)
        return [self._under_way]

    @property
    def next_deadline_ms(self) -> int | None:
        """When the request may be sent; None if none is needed or one is under way."""
        return None if self._identity.is_known or self._under_way is not None else self._not_before_ms

    def is_about(self, outcome: Outcome) -> bool:
        """Whether this is the outcome of the request under way."""
        return outcome.send is self._under_way

    def outcome(self, outcome: Outcome, now_ms: int) -> ApiError | None:
        """Process it; returns the error after which no broker will give an id."""
        self._under_way = None
        error = outcome.error
        is_final = error is not None and error.code is ErrorCode.UNSUPPORTED_VERSION
        if error is None:
            answer = outcome.answer(InitProducerIdResponse)
            code = known_code(answer.error_code)
            if code is ErrorCode.NONE:
                self._identity.assigned(answer.producer_id, answer.producer_epoch)
                self._failures, self.error = 0, None
                return None
            error = ApiError(code, f"no broker gives a producer id: {code.name}")
            is_final = not code.is_retriable
        self.error = error
        self._not_before_ms = now_ms + self._backoff.after(self._failures)
        self._failures += 1
        return error if is_final else None
