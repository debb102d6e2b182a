"""Producers that are fenced, and offsets in transactions: what `examination` asks of transactions.

first begins a transaction, second takes its transactional id      first is refused whatever it asks
second aborts, and commits its next transaction                    readers are shown the second one only
offsets are sent, the transaction aborts, or commits               they do not count, or they do
the coordinator of the group moves before the end                  the same
"""

from __future__ import annotations

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import Offset, TopicPartition
from odradek.base.topic_names import OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.testing.sim.node import SimNode
from odradek.testing.sim.trial.checkers.committed import shown_to_committed
from odradek.testing.sim.trial.checkers.examiner import Examiner
from odradek.testing.sim.trial.workloads.transactional_producer import (
    ADD_PARTITIONS_VERSION,
    CLASSIC,
    V2,
    Protocol,
)
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from odradek.wire.messages.end_txn import EndTxnRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

TIMEOUT_MS: Final = 60_000
GROUP: Final = "examined"
CLASSIC_OFFSETS_VERSION: Final = 3
OFFSETS_PARTITION: Final = TopicPartition(OFFSETS_TOPIC, 0)


class _Producer:
    """A transactional producer, as one owner of its id knows it."""

    def __init__(self, examiner: Examiner, transactional_id: str, protocol: Protocol) -> None:
        self.examiner = examiner
        self.transactional_id = transactional_id
        self.protocol = protocol
        self.producer = (-1, -1)
        self.sequence = 0

    def _coordinator(self) -> SimNode:
        topic = self.examiner.leader_of_place().core.transactions.topic
        number = topic.partition_of(self.transactional_id)
        return self.examiner.leader(TopicPartition(TRANSACTION_STATE_TOPIC, number))

    def init(self) -> ErrorCode:
        """Take the id."""
        request = InitProducerIdRequest(self.transactional_id, TIMEOUT_MS)

        def ask() -> ErrorCode:
            response = self.examiner.ask(self._coordinator(), request)
            self.producer = response.producer_id, response.producer_epoch
            return ErrorCode(response.error_code)

        return self.examiner.settled(ask)

    def add(self) -> ErrorCode:
        """Add the partition, as a classic producer does."""
        place = self.examiner.place
        topic = AddPartitionsToTxnTopic(place.topic, [place.partition])
        request = AddPartitionsToTxnRequest(self.transactional_id, *self.producer, [topic])

        def ask() -> ErrorCode:
            response = self.examiner.ask(self._coordinator(), request, ADD_PARTITIONS_VERSION)
            (found,) = response.results_by_topic_v3_and_below
            return ErrorCode(found.results_by_partition[0].partition_error_code)

        return self.examiner.settled(ask)

    def write(self, number: int) -> ErrorCode:
        """Send one record in the transaction, which it may begin."""
        if self.protocol.adds_partitions and (code := self.add()) is not ErrorCode.NONE:
            return code
        return self.send(number)

    def send(self, number: int) -> ErrorCode:
        """Send one record."""
        code, _ = self.examiner.produce(
            number, self.producer, self.sequence, self.transactional_id, self.protocol.produce
        )
        self.sequence += code is ErrorCode.NONE
        return code

    def end(self, *, committed: bool) -> ErrorCode:
        """Commit or abort."""
        request = EndTxnRequest(self.transactional_id, *self.producer, committed)

        def ask() -> ErrorCode:
            response = self.examiner.ask(self._coordinator(), request, self.protocol.end)
            code = ErrorCode(response.error_code)
            if code is ErrorCode.NONE and not self.protocol.adds_partitions:
                self.producer, self.sequence = (response.producer_id, response.producer_epoch), 0
            return code

        return self.examiner.settled(ask)

    def commit_offset(self, offset: Offset) -> ErrorCode:
        """Send an offset of the group in the transaction."""
        place, is_classic = self.examiner.place, self.protocol.adds_partitions
        if is_classic:
            added = AddOffsetsToTxnRequest(self.transactional_id, *self.producer, GROUP)
            code = self.examiner.settled(
                lambda: ErrorCode(self.examiner.ask(self._coordinator(), added, 3).error_code)
            )
            if code is not ErrorCode.NONE:
                return code
        partition = TxnOffsetCommitRequestPartition(place.partition, offset)
        topic = TxnOffsetCommitRequestTopic(place.topic, place.topic_id, [partition])
        request = TxnOffsetCommitRequest(self.transactional_id, GROUP, *self.producer, topics=[topic])

        def ask() -> ErrorCode:
            node = self.examiner.leader(OFFSETS_PARTITION)
            response = self.examiner.ask(node, request, CLASSIC_OFFSETS_VERSION if is_classic else None)
            return ErrorCode(response.topics[0].partitions[0].error_code)

        return self.examiner.settled(ask)


def examine_transactions(examiner: Examiner) -> None:
    """See the module's head; with the protocol that is the seed's turn."""
    protocol = (V2, CLASSIC)[examiner.scene.seed // 2 % 2]
    _examine_fencing(examiner, "examined", protocol)
    _examine_offsets(examiner, "examined-offsets", protocol)


def _examine_fencing(examiner: Examiner, name: str, protocol: Protocol) -> None:
    expect, none = examiner.expect, ErrorCode.NONE
    first, second = _Producer(examiner, name, protocol), _Producer(examiner, name, protocol)
    left, aborted, kept = (examiner.next_number() for _ in range(3))
    expect(f"{name} gets a producer id", first.init(), none)
    expect(f"{name} writes", first.write(left), none)
    expect(f"{name} is taken by another producer", second.init(), none)
    _expect_fenced(examiner, first, "before its next owner has begun")
    expect(f"the next owner of {name} writes", second.write(aborted), none)
    _expect_fenced(examiner, first, "while its next owner has a transaction open")
    before, sequence = second.producer, second.sequence
    expect(f"the next owner of {name} aborts", second.end(committed=False), none)
    if not protocol.adds_partitions:
        late = _Producer(examiner, name, protocol)
        late.producer, late.sequence = before, sequence
        examiner.wait()
        _expect_refused(examiner, f"a late record of {name}", late.send(examiner.next_number()))
    expect(f"the next owner of {name} writes again", second.write(kept), none)
    expect(f"the next owner of {name} commits", second.end(committed=True), none)
    _examine_markers(examiner, second)
    examiner.wait(500)
    shown = set(shown_to_committed(examiner.leader_of_place(), examiner.place).values())
    for number, words in ((left, "left open"), (aborted, "aborted")):
        if number in shown:
            examiner.wrong(f"the record of {name} whose transaction was {words} is shown as committed")
    if kept not in shown:
        examiner.wrong(f"the record that {name} has committed is not shown")


def _examine_markers(examiner: Examiner, ended: _Producer) -> None:
    """A coordinator that was deposed must end no transaction any more."""
    place, named = examiner.place, ended.transactional_id
    examiner.wait()
    log = examiner.leader_of_place().logs.get(examiner.named_place)
    entry = None if log is None else log.producers.get(ended.producer[0])
    if entry is None or entry.coordinator_epoch <= 0:
        return  # the first coordinator that there was is in office
    topic = WritableTxnMarkerTopic(place.topic, [place.partition])
    marker = WritableTxnMarker(entry.producer_id, entry.epoch, False, [topic], entry.coordinator_epoch - 1)
    response = examiner.ask(examiner.leader_of_place(), WriteTxnMarkersRequest([marker]))
    code = ErrorCode(response.markers[0].topics[0].partitions[0].error_code)
    fenced = ErrorCode.TRANSACTION_COORDINATOR_FENCED
    examiner.expect(f"a marker of an earlier coordinator of {named}", code, fenced)


def _expect_fenced(examiner: Examiner, fenced: _Producer, when: str) -> None:
    name = fenced.transactional_id
    _expect_refused(examiner, f"a commit of the fenced {name} {when}", fenced.end(committed=True))
    _expect_refused(examiner, f"a partition of the fenced {name} {when}", fenced.add())
    _expect_refused(examiner, f"a record of the fenced {name} {when}", fenced.send(examiner.next_number()))


def _expect_refused(examiner: Examiner, what: str, code: ErrorCode) -> None:
    if code is ErrorCode.NONE or code.is_retriable:
        examiner.wrong(f"{what}: {code.name} instead of a refusal")


def _examine_offsets(examiner: Examiner, name: str, protocol: Protocol) -> None:
    """Offsets in transactions that abort, commit, and go on while the group's coordinator moves."""
    examiner.make_offsets_topic()
    expect, none, unstable = examiner.expect, ErrorCode.NONE, ErrorCode.UNSTABLE_OFFSET_COMMIT
    producer = _Producer(examiner, name, protocol)
    expect(f"{name} gets a producer id", producer.init(), none)
    expect(f"{name} sends an offset", producer.commit_offset(1), none)
    expect("an offset that is pending, asked for as stable", _fetch(examiner, stable=True)[0], unstable)
    expect("the offset before one that is pending", _known(examiner), -1)
    expect(f"{name} aborts", producer.end(committed=False), none)
    expect("the offset after an abort", _stable(examiner), -1)
    expect(f"{name} sends another offset", producer.commit_offset(2), none)
    expect(f"{name} commits", producer.end(committed=True), none)
    expect("the offset after a commit", _stable(examiner), 2)
    expect(f"{name} sends a third offset", producer.commit_offset(3), none)
    expect(f"{name} aborts again", producer.end(committed=False), none)
    expect("the offset after another abort", _stable(examiner), 2)
    expect(f"{name} sends a last offset", producer.commit_offset(4), none)
    examiner.move_leader(OFFSETS_PARTITION)
    expect("the offset where the coordinator has moved", _known(examiner), 2)
    code, _ = _fetch(examiner, stable=True)
    expect("a pending offset where the coordinator has moved", code, unstable)
    expect(f"{name} commits where the coordinator has moved", producer.end(committed=True), none)
    expect("the offset committed where the coordinator has moved", _stable(examiner), 4)


def _fetch(examiner: Examiner, *, stable: bool) -> tuple[ErrorCode, Offset]:
    place = examiner.place
    topic = OffsetFetchRequestTopics(place.topic, place.topic_id, [place.partition])
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(GROUP, None, -1, [topic])], require_stable=stable
    )
    (group,) = examiner.ask(examiner.leader(OFFSETS_PARTITION), request).groups
    if group.error_code != ErrorCode.NONE:
        return ErrorCode(group.error_code), -1
    (answered,) = group.topics[0].partitions
    return ErrorCode(answered.error_code), answered.committed_offset


def _stable(examiner: Examiner) -> Offset:
    """The committed offset, when no transaction may change it any more."""
    return _asked_again(examiner, stable=True)


def _known(examiner: Examiner) -> Offset:
    """The committed offset, whatever is pending."""
    return _asked_again(examiner, stable=False)


def _asked_again(examiner: Examiner, *, stable: bool) -> Offset:
    offset = -1

    def ask() -> ErrorCode:
        nonlocal offset
        code, offset = _fetch(examiner, stable=stable)
        return code

    examiner.expect("the group's offset is told", examiner.settled(ask), ErrorCode.NONE)
    return offset
