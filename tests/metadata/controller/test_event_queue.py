"""The queue of a controller: its order, its requests, and how long events waited."""

from odradek.base.clock import ManualClock
from odradek.base.durations import BOUNDS_MS
from odradek.metadata.controller import RequestArrived
from odradek.metadata.controller.event_queue import EventQueue
from odradek.metadata.controller.requests import AllocateProducerIds
from odradek.metadata.store import Reconnected

REQUEST = RequestArrived(1, AllocateProducerIds(1, 3))


def test_events_come_out_as_they_came_in_and_requests_are_counted() -> None:
    queue = EventQueue(ManualClock())
    other = Reconnected()
    queue.append(REQUEST)
    queue.append(other)
    queue.append_first(RequestArrived(2, REQUEST.request))
    assert (len(queue), queue.requests) == (3, 2)
    assert queue.pop() == RequestArrived(2, REQUEST.request)
    assert (queue.pop(), queue.requests) == (REQUEST, 0)
    assert queue.pop() is other
    assert not queue


def test_the_time_that_each_event_waited_is_counted() -> None:
    clock = ManualClock()
    queue = EventQueue(clock)
    queue.append(REQUEST)
    queue.append(REQUEST)
    queue.pop()
    clock.advance(90)
    queue.pop()
    counts, sum_s = queue.waits.cumulative()
    assert sum_s == 0.09
    up_to = dict(zip(BOUNDS_MS, counts, strict=False))
    assert (up_to[25], up_to[100]) == (1, 2)


def test_events_that_nobody_handles_are_not_counted() -> None:
    queue = EventQueue(ManualClock())
    queue.append(REQUEST)
    queue.append(Reconnected())
    assert queue.clear() == [REQUEST, Reconnected()]
    assert (len(queue), queue.requests, queue.waits.cumulative()[0][-1]) == (0, 0, 0)
