"""Deliveries are futures of the standard library, whose outcomes come for a whole batch at once."""

import threading
from collections.abc import Iterator
from concurrent.futures import ALL_COMPLETED, CancelledError, Future, as_completed, wait

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.aio.deliveries import Receipt
from odradek.client.blocking.delivery import Delivery, give_deliveries
from odradek.client.blocking.network_thread import NetworkThread

ENDED = threading.Condition()
STORED = [Receipt("orders", 0, offset, 1_000) for offset in range(3)]


@pytest.fixture
def network() -> Iterator[NetworkThread]:
    async def nothing() -> None:
        pass

    made = NetworkThread("this producer")
    yield made
    made.close(10, nothing)


def deliveries(network: NetworkThread) -> list[Delivery]:
    return [Delivery(network, ENDED) for _ in STORED]


def test_a_batch_has_its_outcomes_in_order(network: NetworkThread) -> None:
    made = deliveries(network)
    refused = ApiError(ErrorCode.RECORD_LIST_TOO_LARGE, "too large")
    give_deliveries(ENDED, made, [STORED[0], refused, STORED[2]])
    assert all(one.done() and not one.running() and not one.cancelled() for one in made)
    assert made[0].result() == STORED[0]
    assert made[1].exception() is refused
    with pytest.raises(ApiError, match="too large"):
        made[1].result(0)
    assert made[2].exception() is None


def test_threads_that_wait_get_theirs(network: NetworkThread) -> None:
    made = deliveries(network)
    found: dict[int, Receipt] = {}

    def read(number: int) -> None:
        found[number] = made[number].result(60)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(3)]
    for one in threads:
        one.start()
    give_deliveries(ENDED, made, STORED)
    for one in threads:
        one.join(60)
    assert found == dict(enumerate(STORED))


def test_an_outcome_that_does_not_come_in_time(network: NetworkThread) -> None:
    (one, *_) = deliveries(network)
    with pytest.raises(TimeoutError):
        one.result(0)
    with pytest.raises(TimeoutError):
        one.exception(0.001)


def test_the_standard_librarys_functions_take_them(network: NetworkThread) -> None:
    made = deliveries(network)
    done, left = wait(made, timeout=0)
    assert (len(done), len(left)) == (0, 3)
    waiting = threading.Thread(target=lambda: wait(made, 60, ALL_COMPLETED))
    waiting.start()
    completed = as_completed(made, 60)
    give_deliveries(ENDED, made[:1], STORED[:1])
    assert next(completed) is made[0]
    give_deliveries(ENDED, made[1:], STORED[1:])
    assert set(completed) == set(made[1:])
    waiting.join(60)
    assert not waiting.is_alive()


def test_callbacks_are_called_without_the_shared_lock(network: NetworkThread) -> None:
    made = deliveries(network)
    told: list[Receipt] = []

    def tell(done: "Future[Receipt]") -> None:
        other = threading.Thread(target=lambda: told.append(made[1].result(60)))
        other.start()  # it needs the lock
        other.join(60)
        told.append(done.result())

    made[0].add_done_callback(tell)
    give_deliveries(ENDED, made, STORED)
    assert told == [STORED[1], STORED[0]]


def test_one_that_was_cancelled_stays_so_and_keeps_nothing_from_the_others(network: NetworkThread) -> None:
    made = deliveries(network)
    assert made[1].cancel()
    give_deliveries(ENDED, made, STORED)
    with pytest.raises(CancelledError):
        made[1].result()
    assert [one.result() for one in (made[0], made[2])] == [STORED[0], STORED[2]]


def test_one_that_is_just_getting_its_outcome_is_waited_for(network: NetworkThread) -> None:
    made = deliveries(network)
    for one, read in ((made[0], made[0].result), (made[1], made[1].exception)):
        assert one.set_running_or_notify_cancel()
        found: list[object] = []
        waiting = threading.Thread(target=lambda read=read, found=found: found.append(read()))
        waiting.start()
        with ENDED:
            ENDED.notify_all()  # it is not over yet
        one.set_result(STORED[0])
        waiting.join(60)
        assert found == [STORED[0] if one is made[0] else None]
    assert made[2].set_running_or_notify_cancel()
    with pytest.raises(TimeoutError):
        made[2].result(0)


def test_an_outcome_is_read_without_the_lock(network: NetworkThread) -> None:
    """A process that was forked while another thread had the lock never gets it."""
    made = deliveries(network)
    refused = ApiError(ErrorCode.RECORD_LIST_TOO_LARGE, "too large")
    give_deliveries(ENDED, made, [STORED[0], refused, STORED[2]])
    found: list[object] = []
    reading = threading.Thread(
        target=lambda: found.extend([made[0].result(), made[1].exception(), made[2].exception()]),
        daemon=True,
    )
    with ENDED:
        reading.start()
        reading.join(60)
    assert found == [STORED[0], refused, None]
