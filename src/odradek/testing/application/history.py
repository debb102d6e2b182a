"""What happened in a run, in Kafka's words: faults, elections, ISRs, the application's requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.base.ids import NO_BROKER, BrokerId, TopicPartition
from odradek.metadata.codec import StateDocument
from odradek.testing.application.traffic import Traffic
from odradek.testing.application.words import words_of
from odradek.testing.sim.stored import StoredCluster

if TYPE_CHECKING:
    from odradek.testing.sim.world import World

SHOWN_MAX: Final = 60
"""A report shows as many lines: of the requests the last ones, and all else as far as there is room."""
ALIKE_MAX: Final = 3
"""More requests of one API and one process than this, with nothing else between them, are folded."""


class History:
    """The events of one run, oldest first."""

    def __init__(self, world: World, traffic: Traffic) -> None:
        self.events: list[tuple[int, str]] = []
        """(virtual milliseconds, what happened)."""
        self._world = world
        self._traffic = traffic
        self._stored = StoredCluster(world)
        # What was seen of the metadata store last.
        self._version = -1
        self._controller: BrokerId = NO_BROKER
        self._brokers: list[BrokerId] = []
        self._states: dict[TopicPartition, StateDocument] = {}

    def note(self, event: str) -> None:
        """Called with what happens now."""
        self.events.append((self._world.clock.monotonic_ms(), event))

    def look(self) -> None:
        """Called after each step: note what has changed in the metadata store."""
        if self._stored.version != self._version:
            self._version = self._stored.version
            self._look_at_brokers()
            self._look_at_partitions()

    def _look_at_brokers(self) -> None:
        controller, brokers = self._stored.controller(), self._stored.registered()
        if controller not in (NO_BROKER, self._controller):
            self.note(f"broker {controller} is the controller")
            self._controller = controller
        for broker_id in brokers:
            if broker_id not in self._brokers:
                self.note(f"broker {broker_id} has joined")
        for broker_id in self._brokers:
            if broker_id not in brokers:
                self.note(f"broker {broker_id} has left")
        self._brokers = brokers

    def _look_at_partitions(self) -> None:
        states = {
            partition: state
            for partition in self._stored.partitions()
            if (state := self._stored.state(partition)) is not None
        }
        if states == self._states:
            return
        for partition, state in states.items():
            before = self._states.get(partition)
            if before is None or before.leader_epoch != state.leader_epoch:
                led = f"led by {state.leader}" if state.leader != NO_BROKER else "without a leader"
                self.note(f"{partition} is {led}, epoch {state.leader_epoch}, ISR {list(state.isr)}")
            elif before.isr != state.isr:
                change = "shrinks" if len(state.isr) < len(before.isr) else "expands"
                self.note(f"{partition}: the ISR {change} to {list(state.isr)}")
        self._states = states

    def told(self) -> list[str]:
        """The last events and requests as lines; of many requests alike, the first and the last."""
        events = [Event(at_ms, words) for at_ms, words in self.events]
        if not self._traffic.are_all_kept:
            events.append(
                Event(self._traffic.latest[0].at_ms, "the application's requests before are not kept")
            )
        events += [
            Event(exchange.at_ms, words, f"{exchange.process} {exchange.api}")
            for exchange in self._traffic.latest
            if (words := words_of(exchange)) is not None
        ]
        events.sort(key=lambda event: event.at_ms)
        return list(_shortened(_folded(events)))


class Event(NamedTuple):
    """One line of a report."""

    at_ms: int
    words: str
    kind: str = ""
    """Many of one kind are folded; "" is never folded."""


class Line(NamedTuple):
    """One line of a report, folded."""

    text: str
    is_request: bool


def _shortened(folded: Iterable[Line]) -> Iterator[str]:
    """The lines without the oldest beyond SHOWN_MAX: requests go first, so that faults stay in sight."""
    lines = list(folded)
    surplus = len(lines) - SHOWN_MAX
    requests = [number for number, line in enumerate(lines) if line.is_request]
    left_out = set(requests[: max(0, surplus)])
    others = (number for number in range(len(lines)) if number not in left_out)
    left_out |= set(islice(others, max(0, surplus - len(left_out))))
    for is_out, group in groupby(range(len(lines)), key=left_out.__contains__):
        numbers = list(group)
        if is_out:
            yield f"{'':9}    ... {len(numbers)} more {'line' if len(numbers) == 1 else 'lines'}"
        else:
            yield from (lines[number].text for number in numbers)


def _folded(events: Iterable[Event]) -> Iterator[Line]:
    """The lines of events; of many alike between two others without a kind, the first and the last."""
    for has_kind, group in groupby(events, key=lambda event: bool(event.kind)):
        stretch = list(group)
        alike: dict[str, list[Event]] = {}
        for event in stretch:
            alike.setdefault(event.kind, []).append(event)
        for event in stretch:
            same = alike[event.kind]
            if not has_kind or len(same) <= ALIKE_MAX or event is same[-1]:
                yield _line(event)
            elif event is same[0]:
                yield _line(event)
                yield Line(f"{'':9}    ... {len(same) - 2} more like this", is_request=True)


def _line(event: Event) -> Line:
    return Line(f"{event.at_ms / 1000:9.3f} s  {event.words}", is_request=bool(event.kind))
