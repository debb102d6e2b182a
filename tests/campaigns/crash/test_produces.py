"""The check of `./dev crash --during produces` fails at everything that it is there to find."""

import logging

import pytest
from campaigns.crash.campaign import Broken
from campaigns.crash.produces import PLAIN, PRODUCERS, Acknowledged, NewEpochs, Place, check, count_lost

# Numbers at their offsets, in one partition.
WRITTEN: dict[Place, int] = {(0, offset): offset for offset in range(6)}
IDEMPOTENT = PLAIN + 1


def test_what_was_acknowledged_is_there() -> None:
    check(Acknowledged(numbers=dict(WRITTEN)), WRITTEN)


def test_what_was_not_acknowledged_may_be_there() -> None:
    check(Acknowledged(), WRITTEN)


def test_a_plain_producers_record_may_be_there_twice() -> None:
    check(Acknowledged(numbers=dict(WRITTEN)), {**WRITTEN, (0, 6): PLAIN})


def test_what_librdkafka_repeats_by_itself_is_counted() -> None:
    promised, found = Acknowledged(numbers=dict(WRITTEN)), {**WRITTEN, (0, 6): IDEMPOTENT}
    assert check(promised, found, [range(0), range(IDEMPOTENT, 6, PRODUCERS)]) == 1
    with pytest.raises(Broken, match="is there twice"):
        check(promised, found, [range(IDEMPOTENT + 1, 6, PRODUCERS), range(0)])


@pytest.mark.parametrize(
    ("said", "has_begun"),
    [
        ("ProduceRequest for crash [1] with 3 message(s) failed due to skipped sequence numbers (...)", True),
        (
            "ProduceRequest for crash [1] with 3 message(s) failed due to duplicate sequence number: ...",
            False,
        ),
    ],
)
def test_a_producer_that_begins_an_epoch_by_itself_says_so(said: str, has_begun: bool) -> None:
    epochs = NewEpochs()
    epochs.emit(logging.makeLogRecord({"msg": said}))
    epochs.emit(logging.makeLogRecord({"msg": "Acquired PID"}))
    assert epochs.has_begun is has_begun


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({place: number for place, number in WRITTEN.items() if number != 3}, "1 acknowledged records"),
        ({place: number for place, number in WRITTEN.items() if number != PLAIN}, "1 acknowledged records"),
        ({**WRITTEN, (0, 2): 3, (0, 3): 2}, "2 acknowledged records"),
        ({**WRITTEN, (0, 6): IDEMPOTENT}, "is there twice"),
    ],
    ids=["lost", "lost, of the plain producer", "misplaced", "twice"],
)
def test_a_broken_promise_is_found(found: dict[Place, int], words: str) -> None:
    with pytest.raises(Broken, match=words):
        check(Acknowledged(numbers=dict(WRITTEN)), found)


def test_what_a_leader_alone_has_promised_may_be_lost_and_is_counted() -> None:
    found = {(0, 0): 0, (0, 1): 5, (0, 2): 3}
    assert count_lost(Acknowledged(numbers=dict(WRITTEN)), found, len(WRITTEN)) == 3


def test_a_record_that_was_never_sent_is_found() -> None:
    with pytest.raises(Broken, match="1 records were never sent"):
        count_lost(Acknowledged(numbers=dict(WRITTEN)), WRITTEN, len(WRITTEN) - 1)
