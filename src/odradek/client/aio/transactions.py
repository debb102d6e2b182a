"""The calls of a transactional producer on a loop: each returns when its step has ended.

What decides is in `client/core/producer/transaction` and `transaction_core`. Invariant: a call that was
cancelled, or that gave up after `max.block.ms`, leaves its step under way; the same call waits for it again.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, TransactionAbortable
from odradek.base.ids import TopicPartition
from odradek.client.aio.arguments import committable, group_of
from odradek.client.aio.driver import Driver
from odradek.client.core.membership.group_metadata import GroupMetadata
from odradek.client.core.offset_and_metadata import OffsetAndMetadata
from odradek.client.core.producer.delivery import ProducerCore
from odradek.client.core.producer.transaction import State, Step, Transaction
from odradek.client.core.producer.transaction_core import TransactionCore
from odradek.client.core.waiting import Why

Offsets = Mapping[TopicPartition, "int | OffsetAndMetadata"]


class Transactions:
    """See the module; made for one producer."""

    def __init__(
        self,
        transaction: Transaction,
        core: TransactionCore,
        batches: ProducerCore,
        driver: Driver,
        max_block_ms: int,
    ) -> None:
        self._transaction = transaction
        self._core = core
        self._batches = batches
        self._driver = driver
        self._max_block_ms = max_block_ms

    async def init(self) -> None:
        """See `Producer.init_transactions`."""
        await self._end_of(self._transaction.init(), "init_transactions")

    def begin(self) -> None:
        """See `Producer.begin_transaction`."""
        self._transaction.begin()

    async def send_offsets(self, offsets: Offsets, group: GroupMetadata | str) -> None:
        """See `Producer.send_offsets_to_transaction`."""
        try:
            named, full = group_of(group), committable(offsets)
        except ValueError as fault:
            raise ApiError(ErrorCode.INVALID_REQUEST, str(fault)) from None
        await self._end_of(self._transaction.send_offsets(full, named), "send_offsets_to_transaction")

    async def commit(self) -> None:
        """See `Producer.commit_transaction`."""
        step = self._transaction.commit()
        self._batches.flush()
        await self._end_of(step, "commit_transaction")

    async def abort(self) -> None:
        """See `Producer.abort_transaction`."""
        await self._end_of(self._transaction.abort(), "abort_transaction")

    async def settle(self) -> None:
        """Bring the transaction to an end before the producer is closed: what is open is aborted."""
        state = self._transaction.state
        try:
            if state is State.COMMITTING:
                await self.commit()
            elif self._transaction.has_open or state is State.ABORTING:
                await self.abort()
        except ApiError:
            pass  # the coordinator aborts it after transaction.timeout.ms

    @asynccontextmanager
    async def block(self) -> AsyncIterator[None]:
        """See `Producer.transaction`."""
        if self._transaction.state in (State.UNINITIALIZED, State.INITIALIZING):
            await self.init()
        self.begin()
        try:
            yield
        except BaseException as error:
            await self._abort_after(error)
            raise
        try:
            await self.commit()
        except TransactionAbortable as error:
            await self._abort_after(error)
            raise

    def failed(self, error: ApiError) -> None:
        """A record was not added: the transaction cannot be committed without it."""
        if self._transaction.state is State.IN_TRANSACTION:
            self._transaction.fail(error)
            self._driver.pump()

    def why(self, now_ms: int) -> list[Why]:
        """What it waits for."""
        return self._core.why(now_ms)

    # --- inside

    async def _abort_after(self, error: BaseException) -> None:
        """Abort because of an error, which the application is to see with a note if the abort fails."""
        if not self._transaction.has_open:
            return
        try:
            await self.abort()
        except ApiError as failed:
            error.add_note(f"The transaction could not be aborted: {failed}")

    async def _end_of(self, step: Step, call: str) -> None:
        try:
            await self._wait_for(step, call)
        except BaseException:
            self._transaction.give_up(step)
            raise
        if step.error is not None:
            raise type(step.error)(step.error.code, step.error.message)

    async def _wait_for(self, step: Step, call: str) -> None:
        driver = self._driver
        driver.pump()
        if not await driver.until(lambda: step.is_done or driver.is_closed, self._max_block_ms):
            raise self._too_late(call)
        if not step.is_done:
            raise ApiError(ErrorCode.INVALID_REQUEST, "this producer was closed")

    def _too_late(self, call: str) -> ApiError:
        now_ms = self._driver.now_ms
        causes = [
            *self._driver.routing.why(now_ms),
            *self._core.why(now_ms),
            *self._batches.why(now_ms, self._driver.routing.answers),
        ]
        reason = f": {causes[0]}" if causes else ""
        said = f"{call} has not ended within {self._max_block_ms / 1000:g} s{reason}; call it again to wait"
        return ApiError(ErrorCode.REQUEST_TIMED_OUT, said)
