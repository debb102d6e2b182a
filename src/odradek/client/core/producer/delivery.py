"""The core of a producer: from a record to its acknowledgement, or to the error that says why there is none.

    append(orders-0, ...)            batch 1: the delivery of the record is that of its batch
    due(5)                           InitProducerId, once, if the producer is idempotent
    due(10)                          Produce to the leader of orders-0, with batch 1
    outcome(Produce: no error)       take_done(): [Done(batch 1, base_offset 40)]

A batch that may succeed later is sent again until `delivery.timeout.ms` are over, to the leader that is known
then. One that its broker finds too large is sent again in two parts, and these if need be in two parts each.
Invariant: each record is in one `Done`, also when the producer is closed.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from odradek.base.chance import Chance
from odradek.base.error_codes import ErrorCode, known_code
from odradek.base.errors import ApiError
from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.client.core.answers import Answers
from odradek.client.core.backoff import Backoff
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.producer.accumulator import Accumulator
from odradek.client.core.producer.batch import Batch, Done, EncodedRecords, Encoding
from odradek.client.core.producer.identity import Identity
from odradek.client.core.producer.identity_request import IdentityRequest
from odradek.client.core.producer.partition_queue import Verdict
from odradek.client.core.producer.placement import Placement
from odradek.client.core.producer.reasons import Reasons
from odradek.client.core.producer.send_figures import SendFigures
from odradek.client.core.producer.settings import ProducerSettings
from odradek.client.core.producer.transaction import State, Transaction
from odradek.client.core.requests import Outcome, Send, ToNode, earliest
from odradek.client.core.waiting import Why
from odradek.client.refusal import name_of
from odradek.net.request_pipeline import NotConnected
from odradek.records.framing import RecordHeaders
from odradek.wire.messages.metadata import MetadataRequest
from odradek.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

# The last version that names topics by name.
_PRODUCE_VERSION_MAX: Final = 12
# The last version in which a leader expects that the coordinator knows of the partition already.
_PRODUCE_VERSION_V1: Final = 11


class ProducerCore:
    """See the module. `view` is shared with the driver, which gives it its outcomes."""

    def __init__(
        self,
        settings: ProducerSettings,
        view: ClusterView,
        chance: Chance,
        transaction: Transaction | None = None,
        *,
        encodes_elsewhere: bool = False,
    ) -> None:
        """`transaction` is there if the settings have a transactional id.

        `encodes_elsewhere`: who drives it takes `take_encodings` after each `due`, and calls `encoded`.
        """
        assert (transaction is None) is (settings.transactional_id is None)
        self._settings = settings
        self._transaction = transaction
        self._view = view
        self._backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms, chance)
        is_transactional = transaction is not None
        self.identity = Identity(is_transactional=is_transactional) if settings.is_idempotent else None
        """None for a producer that is not idempotent; in transactions the coordinator's answers set it."""
        self._batches = Accumulator(settings, self.identity)
        self._reasons = Reasons(settings, view, self._batches)
        self.placement = Placement(settings, view, chance, self._batches.queue_length)
        """Which partition the next records go to."""
        # How many requests each broker has not answered.
        self._in_flight: dict[BrokerId, int] = defaultdict(int)
        # None where there is no identity, or the coordinator of transactions gives it.
        self._asks: IdentityRequest | None = None
        if self.identity is not None and transaction is None:
            self._asks = IdentityRequest(self.identity, self._backoff, settings.request_timeout_ms)
        # The brokers that were sent batches with acks=0 since `take_unanswered`.
        self._unanswered: set[BrokerId] = set()
        # The time of the latest `due`: what is due by then cannot be sent yet and waits for an event.
        self._now_ms = 0
        self._encodes_elsewhere = encodes_elsewhere
        # Batches to be encoded elsewhere, not yet taken.
        self._encodings: list[Encoding] = []
        # What became of batches, not yet taken.
        self._done: list[Done] = []
        self._figures = SendFigures(settings.sampling)

    # --- the application's calls

    def check_open(self) -> None:
        """Raises ApiError where records need a transaction and none is open."""
        if self._transaction is not None:
            self._transaction.check_open()

    def append(
        self,
        partition: TopicPartition,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: RecordHeaders,
        record_bytes: int,
        now_ms: int,
    ) -> Batch | None:
        """Add a record to a batch, which is returned, as its last one; None if there is no memory for it now.

        `record_bytes` is its `record_bytes_max`. Raises ApiError for one that is too large, and outside a
        transaction where there must be one.
        """
        transaction, batches = self._transaction, self._batches
        if transaction is not None:
            transaction.check_open()
        before = batches.memory_used
        batch = batches.append(partition, timestamp_ms, key, value, headers, record_bytes, now_ms)
        if batch is None:
            return None
        self.placement.appended(partition, batches.memory_used - before, is_batch_full=batch.is_full)
        if transaction is not None:
            transaction.write_to(partition)
        return batch

    def append_encoded(self, partition: TopicPartition, records: EncodedRecords, now_ms: int) -> Batch | None:
        """Add records as a batch of their own, which is sent at once; None if there is no memory for it now.

        Raises ApiError outside a transaction where there must be one.
        """
        self.check_open()
        batch = self._batches.append_encoded(partition, records, now_ms)
        if batch is not None and self._transaction is not None:
            self._transaction.write_to(partition)
        return batch

    def flush(self) -> None:
        """Send what was appended so far without waiting for more records."""
        self._batches.flush()

    @property
    def is_empty(self) -> bool:
        """Whether no batch waits for its outcome."""
        return not self._batches.busy

    @property
    def is_memory_wanted(self) -> bool:
        """Whether an append found no memory, and none was freed since."""
        return self._batches.is_memory_wanted

    def take_done(self) -> list[Done]:
        """What became of batches since the last call."""
        done, self._done = self._done, []
        return done

    def take_encodings(self) -> list[Encoding]:
        """The batches that are to be encoded elsewhere since the last call."""
        encodings, self._encodings = self._encodings, []
        return encodings

    def encoded(self, encoding: Encoding, data: bytearray) -> None:
        """A batch was encoded; `due` sends it, unless it has failed meanwhile."""
        encoding.batch.end_encoding(data)

    def take_unanswered(self) -> list[Send]:
        """A request to each broker that got batches with acks=0: its answer says that they were read."""
        nodes, self._unanswered = sorted(self._unanswered), set()
        timeout_ms = self._settings.request_timeout_ms
        return [Send(ToNode(node), MetadataRequest(topics=[]), timeout_ms=timeout_ms) for node in nodes]

    def fail_all(self, error: ApiError) -> None:
        """Give up all batches: the producer is closed, or can write no more."""
        for batch in self._batches.remove_all():
            self._fail(batch, error)

    # --- the core's side

    def due(self, now_ms: int) -> Sequence[Send]:
        """See `Core`."""
        self._now_ms = now_ms
        for batch in self._batches.expire(now_ms):
            self._fail(batch, self._too_late(batch))
        self._drop_failed()
        sends = self._asks.due(now_ms) if self._asks is not None and self._batches.busy else []
        # A partition has at most one batch in a request, so one that has more is ready again.
        while batches := self._due_batches(now_ms):
            sends += batches
        return sends

    def _drop_failed(self) -> None:
        """Fail what was not sent of a transaction that has failed or is aborted."""
        transaction = self._transaction
        if transaction is not None and transaction.is_dropping:
            if transaction.state is State.FATAL_ERROR:
                self.fail_all(transaction.drop_error)
                return
            for batch in self._batches.remove_waiting():
                self._fail(batch, transaction.drop_error)

    def _due_batches(self, now_ms: int) -> list[Send]:
        if self._encodes_elsewhere:
            self._encodings += self._batches.begin_encodings(now_ms)
        by_node: dict[BrokerId, list[TopicPartition]] = defaultdict(list)
        for partition in self._batches.ready(now_ms):
            if self._transaction is not None and not self._transaction.may_write(partition):
                continue
            leader = self._view.leader(partition)
            if leader is None or leader.node == NO_BROKER:
                self._view.want([partition.topic])
                self._view.refresh_soon(now_ms)
            else:
                by_node[leader.node].append(partition)
        sends = []
        for node, partitions in by_node.items():
            sends += self._due_to(node, partitions)
        return sends

    def _due_to(self, node: BrokerId, partitions: list[TopicPartition]) -> list[Send]:
        sends = []
        left = partitions
        while left and self._in_flight[node] < self._settings.max_in_flight:
            batches = self._batches.drain(left)
            if not batches:
                break
            taken = {batch.partition for batch in batches}
            left = [partition for partition in left if partition not in taken]
            sends.append(self._produce(node, batches))
            if self._settings.acks == 0:
                self._unanswered.add(node)
            self._in_flight[node] += 1
        return sends

    def _produce(self, node: BrokerId, batches: list[Batch]) -> Send:
        data: dict[str, list[PartitionProduceData]] = defaultdict(list)
        for batch in batches:
            part = PartitionProduceData(index=batch.partition.partition, records=batch.data())
            data[batch.partition.topic].append(part)
        self._figures.note_sent(batches, self._now_ms)
        request = ProduceRequest(
            transactional_id=self._settings.transactional_id,
            acks=self._settings.acks,
            timeout_ms=self._settings.request_timeout_ms,
            topic_data=[TopicProduceData(name=topic, partition_data=parts) for topic, parts in data.items()],
        )
        return Send(
            ToNode(node),
            request,
            tag=batches,
            timeout_ms=self._settings.request_timeout_ms,
            highest=self._highest_version,
            is_answered=self._settings.acks != 0,
        )

    @property
    def _highest_version(self) -> int:
        is_v1 = self._transaction is not None and not self._transaction.is_v2
        return _PRODUCE_VERSION_V1 if is_v1 else _PRODUCE_VERSION_MAX

    def next_deadline_ms(self) -> int | None:
        """See `Core`."""
        asks = self._asks is not None and self._batches.busy
        return earliest(
            self._batches.next_deadline_ms(self._now_ms),
            self._asks.next_deadline_ms if self._asks is not None and asks else None,
        )

    def outcome(self, outcome: Outcome, now_ms: int) -> None:
        """See `Core`."""
        if self._asks is not None and self._asks.is_about(outcome):
            error = self._asks.outcome(outcome, now_ms)
            if error is not None:
                self.fail_all(error)
            return
        assert isinstance(outcome.send.to, ToNode)
        batches = outcome.send.tag
        assert isinstance(batches, list)
        self._in_flight[outcome.send.to.node] -= 1
        for batch in batches:
            self._batches.queue(batch.partition).returned(batch)
        if outcome.error is not None:
            self._view.refresh_soon(now_ms)
            is_final = outcome.error.code is ErrorCode.UNSUPPORTED_VERSION
            for batch in batches:
                batch.may_be_stored = batch.may_be_stored or not isinstance(outcome.error, NotConnected)
                self._retry_or_fail(batch, outcome.error, now_ms, is_final=is_final)
            return
        if outcome.response is None:  # acks=0: it is written, and no broker says more
            for batch in batches:
                self._judge(batch, PartitionProduceResponse(base_offset=-1), now_ms)
            return
        self._take_answers(batches, outcome.answer(ProduceResponse), now_ms)

    # --- outcomes

    def _take_answers(self, batches: list[Batch], answer: ProduceResponse, now_ms: int) -> None:
        answers = {
            TopicPartition(topic.name, part.index): part
            for topic in answer.responses
            for part in topic.partition_responses
        }
        for batch in batches:
            part = answers.get(batch.partition)
            if part is None:
                error = ApiError(
                    ErrorCode.UNKNOWN_SERVER_ERROR, f"the answer does not name {batch.partition}"
                )
                self._retry_or_fail(batch, error, now_ms)
            else:
                self._judge(batch, part, now_ms)

    def _judge(self, batch: Batch, part: PartitionProduceResponse, now_ms: int) -> None:
        code = known_code(part.error_code)
        verdict = self._batches.queue(batch.partition).judge(batch, code)
        if verdict is Verdict.STORED:
            if not batch.is_done:
                base_offset = part.base_offset if code is ErrorCode.NONE else -1
                self._finish(batch, base_offset=base_offset, log_append_time_ms=part.log_append_time_ms)
            self._batches.release(batch)
            return
        words = part.error_message or name_of(code)
        error = ApiError(code, f"{batch.partition} refuses the records: {words}")
        named = tuple((one.batch_index, one.batch_index_error_message or words) for one in part.record_errors)
        newer = part.current_leader
        if newer is not None and newer.leader_id != NO_BROKER:
            self._view.leader_is(batch.partition, newer.leader_id, newer.leader_epoch)
        if code in _WRONG_LEADER:
            self._view.refresh_soon(now_ms)
        if verdict is Verdict.SPLIT:
            batch.last_error = error
            self._batches.split(batch)
            self._figures.note_split()
            return
        self._retry_or_fail(batch, error, now_ms, is_final=verdict is Verdict.FAILED, named=named)

    def _retry_or_fail(
        self,
        batch: Batch,
        error: ApiError,
        now_ms: int,
        *,
        is_final: bool = False,
        named: tuple[tuple[int, str], ...] = (),
    ) -> None:
        """A batch that was not acknowledged goes back into its queue, unless it has failed for good."""
        batch.last_error = error
        batch.failures += 1
        if not batch.is_done and not is_final and batch.failures <= self._settings.retries:
            if batch.deadline_ms > now_ms:
                batch.not_before_ms = now_ms + self._backoff.after_refusal(error.code, batch.failures - 1)
                self._batches.queue(batch.partition).again(batch)
                self._figures.note_again(batch, now_ms)
                return
            error = self._too_late(batch)
        self._fail(batch, error, named)
        self._batches.release(batch)

    def _fail(self, batch: Batch, error: ApiError, named: tuple[tuple[int, str], ...] = ()) -> None:
        self._batches.queue(batch.partition).gave_up(batch)
        if self._transaction is not None:
            self._transaction.batch_failed(error, is_stamped=batch.stamp is not None)
        if not batch.is_done:
            self._figures.note_failed(batch, self._now_ms)
            self._finish(batch, error=error, named=named)

    def _finish(
        self,
        batch: Batch,
        *,
        base_offset: int = -1,
        log_append_time_ms: int = -1,
        error: ApiError | None = None,
        named: tuple[tuple[int, str], ...] = (),
    ) -> None:
        batch.is_done = True
        done = Done(
            batch.id,
            batch.partition,
            batch.first,
            batch.record_count,
            base_offset,
            log_append_time_ms,
            error,
            tuple((batch.first + index, words) for index, words in named),
        )
        self._done.append(done)

    def _too_late(self, batch: Batch) -> ApiError:
        limit_s = self._settings.delivery_timeout_ms / 1000
        reason = batch.last_error or self._ask_error or self._reason_of_wait(batch.partition)
        return ApiError(
            ErrorCode.REQUEST_TIMED_OUT,
            f"the records of {batch.partition} were not acknowledged within {limit_s:g} s: {reason}",
        )

    def _reason_of_wait(self, partition: TopicPartition) -> str:
        if self._view.last_error is not None:
            return f"no broker answers: {self._view.last_error}"
        leader = self._view.leader(partition)
        if leader is None or leader.node == NO_BROKER:
            return "the partition has no leader"
        return f"broker {leader.node} has not answered"

    @property
    def _ask_error(self) -> ApiError | None:
        """Why the producer has no producer id."""
        return None if self._asks is None else self._asks.error

    # --- metrics

    def figures(self, now_ms: int) -> dict[str, float]:
        """Its metrics, by Kafka's names (`client.metrics`)."""
        limit = self._settings.buffer_memory
        return {
            **self._figures.figures(now_ms),
            "requests-in-flight": sum(self._in_flight.values()),
            "buffer-total-bytes": limit,
            "buffer-available-bytes": max(0, limit - self._batches.memory_used),
        }

    # --- why

    def why(self, now_ms: int, answers: Answers | None = None) -> list[Why]:
        """What keeps records from being acknowledged, the worst cause first; empty if nothing does."""
        return self._reasons.why(self._ask_error, answers, now_ms)


_WRONG_LEADER: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
