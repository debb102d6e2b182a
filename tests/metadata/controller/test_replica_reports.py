"""The reports of brokers about their replicas."""

from odradek.base.error_codes import ErrorCode
from odradek.base.ids import TopicPartition
from odradek.metadata.controller.replica_reports import ReplicaReports
from odradek.metadata.controller.replica_states import Replica
from odradek.metadata.orders import LogEnd

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
FAILED = ErrorCode.KAFKA_STORAGE_ERROR


def test_a_disk_fails_once_until_its_broker_obeys_again() -> None:
    reports = ReplicaReports()
    assert reports.note_disks(1, {A: FAILED, B: ErrorCode.NONE}, [A]) == [A]
    assert reports.note_disks(1, {A: FAILED}, [A]) == [], "it had failed before"
    assert reports.note_disks(2, {A: ErrorCode.NONE}, []) == []
    assert reports.has_failed(Replica(A, 1)), "what another broker says is not about it"
    assert not reports.has_failed(Replica(B, 1))
    reports.note_disks(1, {A: ErrorCode.NONE}, [])
    assert not reports.has_failed(Replica(A, 1))
    assert reports.note_disks(1, {A: FAILED}, [A]) == [A]


def test_an_end_of_a_log_is_known_until_there_is_a_leader() -> None:
    reports, end = ReplicaReports(), LogEnd(3, 2, 10)
    reports.note_log_end(Replica(A, 1), end)
    assert reports.log_end(Replica(A, 1)) == end
    assert reports.log_end(Replica(A, 2)) is None
    reports.forget_log_end(Replica(A, 1))
    assert reports.log_end(Replica(A, 1)) is None


def test_a_deletion_is_taken_once() -> None:
    reports = ReplicaReports()
    reports.note_deleting(7, (Replica(A, 1), Replica(B, 1)))
    assert reports.take_deleting(6) == ()
    assert reports.take_deleting(7) == (Replica(A, 1), Replica(B, 1))
    assert reports.take_deleting(7) == ()


def test_a_replica_that_has_left_takes_its_reports_along() -> None:
    reports = ReplicaReports()
    for named in (A, B):
        reports.note_disks(1, {named: FAILED}, [named])
        reports.note_log_end(Replica(named, 1), LogEnd(3, 2, 10))
    reports.forget_replica(Replica(A, 1))
    assert not reports.has_failed(Replica(A, 1))
    assert reports.log_end(Replica(A, 1)) is None
    assert reports.has_failed(Replica(B, 1))
    assert reports.log_end(Replica(B, 1)) is not None


def test_a_broker_that_is_gone_takes_all_its_reports_along() -> None:
    reports = ReplicaReports()
    for broker_id in (1, 2):
        reports.note_disks(broker_id, {A: FAILED}, [A])
        reports.note_log_end(Replica(A, broker_id), LogEnd(3, 2, 10))
        reports.note_deleting(broker_id, (Replica(B, broker_id),))
    reports.forget_broker(1)
    assert [reports.has_failed(Replica(A, broker_id)) for broker_id in (1, 2)] == [False, True]
    assert [reports.log_end(Replica(A, broker_id)) is None for broker_id in (1, 2)] == [True, False]
    assert [reports.take_deleting(number) for number in (1, 2)] == [(), (Replica(B, 2),)]
