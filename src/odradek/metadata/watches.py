"""One-shot watches: which sessions get an event for the next change of which node. Part of an engine.

    arm_data("/controller", 7)
    fire([("/controller", DELETED)])  ->  [(7, WatchFired("/controller", DELETED))]
    fire([("/controller", CREATED)])  ->  []

The second change fires nothing: no watch is armed any more.
"""

from collections.abc import Iterable

from odradek.metadata.store import NodeChange, StoreEvent, WatchFired


class WatchTable:
    """The armed watches of all sessions, in the order in which they were armed."""

    __slots__ = ("_on_children", "_on_data")

    def __init__(self) -> None:
        # By path, the sessions that wait for a change of the node itself (the values mean nothing).
        self._on_data: dict[str, dict[int, None]] = {}
        # By path, the sessions that wait for a change of the list of its children, or for its end.
        self._on_children: dict[str, dict[int, None]] = {}

    def arm_data(self, path: str, session: int) -> None:
        """Tell `session` once when the node at `path` is made, written or deleted."""
        self._on_data.setdefault(path, {})[session] = None

    def arm_children(self, path: str, session: int) -> None:
        """Tell `session` once when a child of `path` comes or goes, or the node is deleted."""
        self._on_children.setdefault(path, {})[session] = None

    def fire(self, touched: Iterable[tuple[str, NodeChange]]) -> list[tuple[int, StoreEvent]]:
        """Disarm the watches that these changes concern; returns their events, one per session and change."""
        events: list[tuple[int, StoreEvent]] = []
        for path, change in touched:
            waiting: dict[int, None] = {}
            if change is not NodeChange.CHILDREN_CHANGED:
                waiting |= self._on_data.pop(path, {})
            if change in (NodeChange.CHILDREN_CHANGED, NodeChange.DELETED):
                waiting |= self._on_children.pop(path, {})
            events.extend((session, WatchFired(path, change)) for session in waiting)
        return events

    def drop_session(self, session: int) -> None:
        """Forget every watch of a session that is over; O(watches)."""
        for table in (self._on_data, self._on_children):
            for path in [path for path, waiting in table.items() if session in waiting]:
                del table[path][session]
                if not table[path]:
                    del table[path]
