"""Batches that are sent again, and records that are deleted: what `examination` asks of partitions.

sequences 0 to 5 are written, 1 to 5 sent again    each is answered with the offset that it has
sequence 8 is sent                                 refused: 6 and 7 are missing
the leader moves, 5 is sent again                  the same offset
records below 7 are deleted                        every replica begins at 7, also after the leader moved
"""

from __future__ import annotations

from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import Offset
from odradek.testing.sim.trial.checkers.examiner import Examiner
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

WRITTEN: Final = 6
REMEMBERED: Final = 5
EARLIEST: Final = -2


def examine_records(examiner: Examiner) -> None:
    """See the module's head."""
    response = examiner.ask(examiner.leader_of_place(), InitProducerIdRequest(None, 60_000))
    producer = response.producer_id, response.producer_epoch
    numbers = [examiner.next_number() for _ in range(WRITTEN)]
    written = [examiner.produce(number, producer, sequence) for sequence, number in enumerate(numbers)]
    for sequence, (code, _) in enumerate(written):
        examiner.expect(f"sequence {sequence} of a new producer", code, ErrorCode.NONE)
    for sequence in range(WRITTEN - REMEMBERED, WRITTEN):
        again = examiner.produce(numbers[sequence], producer, sequence)
        examiner.expect(f"sequence {sequence} sent again", again, written[sequence])
    code, _ = examiner.produce(examiner.next_number(), producer, WRITTEN + 2)
    examiner.expect("a sequence behind a gap", code, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    begins_at = _delete(examiner)
    examiner.move_leader(examiner.named_place)
    again = examiner.produce(numbers[-1], producer, WRITTEN - 1)
    examiner.expect("a batch sent again to the next leader", again, written[-1])
    examiner.expect("the earliest offset at the next leader", _earliest(examiner), begins_at)


def _delete(examiner: Examiner) -> Offset:
    """Delete the older half of the records; returns where the log begins then."""
    leader, place = examiner.leader_of_place(), examiner.place
    partition = leader.core.replicas.partition(examiner.named_place)
    assert partition is not None, f"{place} is led there"
    offset = (partition.log.log_start_offset + partition.log.high_watermark.offset) // 2
    named = DeleteRecordsTopic(place.topic, [DeleteRecordsPartition(place.partition, offset)])
    response = examiner.ask(leader, DeleteRecordsRequest([named], 5_000))
    (answered,) = response.topics[0].partitions
    examiner.expect("a deletion of records", ErrorCode(answered.error_code), ErrorCode.NONE)
    examiner.expect("the low watermark after a deletion", answered.low_watermark, offset)
    for node, hosted in examiner.scene.view.hosted():
        if hosted.topic_partition == examiner.named_place:
            words = f"the first offset of {place} on broker {node.broker_id} after a deletion"
            examiner.expect(words, hosted.log.log_start_offset, offset)
    examiner.expect("the earliest offset after a deletion", _earliest(examiner), offset)
    return offset


def _earliest(examiner: Examiner) -> Offset:
    place, offset = examiner.place, -1
    partition = ListOffsetsPartition(place.partition, timestamp=EARLIEST)
    request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic(place.topic, [partition])])

    def ask() -> ErrorCode:
        nonlocal offset
        response = examiner.ask(examiner.leader_of_place(), request)
        (answered,) = response.topics[0].partitions
        offset = answered.offset
        return ErrorCode(answered.error_code)

    examiner.expect("the earliest offset is told", examiner.settled(ask), ErrorCode.NONE)
    return offset
