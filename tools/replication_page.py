"""Part of `./dev docs`: fills docs/replication.md with the history that the simulator gives.

    <!-- history: election -->
    ```text
    ...                         replaced by the lines of that part of `replication_history.run`
    ```

`--check` compares, for CI.
"""

import argparse
import re
import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import Final

from odradek.base.ids import TopicPartition
from odradek.testing.sim.history.cluster_state import ClusterState
from odradek.testing.sim.history.events import (
    Change,
    Event,
    Faulted,
    ReplicaChanged,
    Requested,
    Unanswered,
    apply,
)
from odradek.testing.sim.history.history import History
from odradek.testing.sim.history.telling import Group, group_of, tell
from odradek.testing.sim.observer import FaultKind
from tools import replication_history

PAGE: Final = Path(__file__).parent.parent / "docs" / "replication.md"
P: Final = TopicPartition(replication_history.TOPIC, 0)
WIDTH_MAX: Final = 112
"""Longer lines are wrapped."""
_BLOCK: Final = re.compile(r"<!-- history: (?P<name>[\w ]+) -->\n```text\n(?P<text>.*?)```\n", re.DOTALL)


def blocks(history: History) -> dict[str, str]:
    """The text of each part by its name."""
    events = list(history.events)
    asked = [one.number for one in events if isinstance(one, Requested) and isinstance(one.sender, str)]
    create, consume, _, _, produce_next = asked
    cut, killed, healed = (
        next(one.number for one in events if isinstance(one, Faulted) and one.fault.kind is kind)
        for kind in (FaultKind.CUT, FaultKind.KILLED, FaultKind.HEALED)
    )
    truncated = next(
        one.number for one in events if isinstance(one, ReplicaChanged) and Change.TRUNCATED in one.changes
    )
    rejoined = next(
        one.number
        for one in events[truncated:]
        if isinstance(one, ReplicaChanged) and Change.ISR in one.changes
    )
    return {
        "topic": _told(events[create:consume], without=("UpdateMetadata",)),
        "record": _told(events[consume:cut]),
        "logs of the record": _logs(events[:cut]),
        "cut": _told(events[cut:killed]),
        "logs of the cut": _logs(events[:killed]),
        "election": _told(events[killed:produce_next], without=("UpdateMetadata",)),
        "next record": _told(events[produce_next:healed]),
        "logs before the truncation": _logs(events[:truncated]),
        "truncation": _told(events[healed : rejoined + 1], without=("UpdateMetadata",)),
        "logs after the truncation": _logs(events[: rejoined + 1]),
    }


def _told(events: Iterable[Event], without: Iterable[str] = ()) -> str:
    """The lines of the events, but for waiting requests and the APIs in `without`."""
    shown = [
        event
        for event in events
        if group_of(event) is not Group.QUIET
        and not (hasattr(event, "message") and event.message.api in without)
        and not isinstance(event, Unanswered)
    ]
    return "".join(f"{part}\n" for line in tell(shown) for part in _wrapped(line.rstrip()))


def _wrapped(line: str) -> list[str]:
    """The rest of a long line goes below the words, which begin after the last gap between columns."""
    words = line.rindex("  ") + 2
    return wrap(line, WIDTH_MAX, subsequent_indent=" " * (words + 2), drop_whitespace=True)


def _logs(events: Iterable[Event]) -> str:
    """The logs after these events, by the leader epochs of their records."""
    state = ClusterState()
    for event in events:
        apply(event, state)
    lines = []
    for broker in sorted(state.brokers):
        replica = state.replicas[broker, P]
        bounds = [*replica.epochs, (-1, replica.end)]
        spans = [
            f"epoch {epoch}: {start}" if start == end - 1 else f"epoch {epoch}: {start}-{end - 1}"
            for (epoch, start), (_, end) in pairwise(bounds)
        ]
        phase = state.brokers[broker].phase.value
        role = replica.role.value if phase == "serving" else phase
        lines.append(f"broker {broker}  {role:<8}  HW {replica.high_watermark}   {'   '.join(spans)}\n")
    return "".join(lines)


def filled(page: str, parts: dict[str, str]) -> str:
    """The page with each block replaced; every part must have a place, and every place a part."""
    places = [found["name"] for found in _BLOCK.finditer(page)]
    assert sorted(places) == sorted(parts), f"{PAGE.name} has places for {places}, there are {list(parts)}"

    def block(found: re.Match[str]) -> str:
        return f"<!-- history: {found['name']} -->\n```text\n{parts[found['name']]}```\n"

    return _BLOCK.sub(block, page)


def main() -> int:
    """Write or compare the page; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare")
    is_check = parser.parse_args().check
    page = PAGE.read_text("utf-8")
    wanted = filled(page, blocks(replication_history.run().history))
    if page == wanted:
        return 0
    if is_check:
        sys.stderr.write(f"{PAGE.name} is not what the simulator gives; run ./dev docs\n")
        return 1
    PAGE.write_text(wanted, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
