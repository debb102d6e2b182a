"""Decides from what a consumer waits for when `odradek consume` says so, and when it gives up.

    no broker answers: cannot connect to 127.0.0.1:9092: connection refused; trying again for 30 s
    group tower has been rebalancing for 3 s: it waits for member 5c2... to give partitions back

What keeps all partitions from being read ends the command after `UNAVAILABLE_MAX_S`: that no broker or no
coordinator answers, or no leader. Anything else is only said, after some seconds and now and then.
"""

from collections.abc import Collection, Sequence
from typing import Final

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.base.ids import TopicPartition
from odradek.cli.waiting import AGAIN_S, FIRST_S
from odradek.client.core.waiting import Cause, Why

UNAVAILABLE_MAX_S: Final = 30.0
"""How long brokers may be away."""

_AWAY: Final = {
    Cause.NO_BROKER: ErrorCode.NETWORK_EXCEPTION,
    Cause.NO_CONNECTION: ErrorCode.NETWORK_EXCEPTION,
    Cause.NO_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    Cause.NO_LEADER: ErrorCode.LEADER_NOT_AVAILABLE,
    Cause.UNKNOWN_TOPIC: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}
_OF_ALL: Final = frozenset({Cause.NO_BROKER, Cause.NO_COORDINATOR})
"""Causes that concern every partition."""
_USUAL: Final = frozenset({Cause.AT_END, Cause.FETCHING, Cause.RECORDS_READY, Cause.NO_POSITION})
"""Causes that are not worth a word: they pass, or there is nothing to read."""


class Outage:
    """See the module; it has no clock of its own."""

    def __init__(self) -> None:
        # Since when nothing can be read; None while something can.
        self._away_since_s: float | None = None
        # What was there at the last look, since when, and when it was said last.
        self._held: tuple[Cause, float, float | None] | None = None

    @property
    def is_away(self) -> bool:
        """Whether nothing could be read at the last look."""
        return self._away_since_s is not None

    def over(self) -> None:
        """Records have come."""
        self._away_since_s = self._held = None

    def sentence(
        self, causes: Sequence[Why], assigned: Collection[TopicPartition], now_s: float
    ) -> str | None:
        """What to say now, or None; `now_s` is a time of `time.monotonic`.

        Raises ApiError when nothing could be read for too long, and soon for a topic that is gone.
        """
        away = _away(causes, assigned)
        if away is None:
            self._away_since_s = None
        elif self._away_since_s is None:
            self._away_since_s = now_s
        if away is not None and self._away_since_s is not None:
            is_gone = away.cause is Cause.UNKNOWN_TOPIC
            if now_s - self._away_since_s >= (FIRST_S if is_gone else UNAVAILABLE_MAX_S):
                topic = away.data.get("topic")
                said = f"there is no topic {topic}" if is_gone and topic else away.text
                raise ApiError(_AWAY[away.cause], said)
        first = away or (causes[0] if causes else None)
        if first is None or first.cause in _USUAL:
            self._held = None
            return None
        if self._held is None or self._held[0] is not first.cause:
            self._held = first.cause, now_s, None
        _, since_s, said_s = self._held
        is_lost = away is not None and away.cause in (Cause.NO_BROKER, Cause.NO_CONNECTION)
        if said_s is None and (is_lost or now_s - since_s >= FIRST_S):
            self._held = first.cause, since_s, now_s
            return f"{first.text}; trying again for {UNAVAILABLE_MAX_S:g} s" if is_lost else first.text
        is_lasting = first.cause is Cause.NO_PARTITIONS or is_lost
        if said_s is not None and not is_lasting and now_s - said_s >= AGAIN_S:
            self._held = first.cause, since_s, now_s
            return first.text
        return None


def _away(causes: Sequence[Why], assigned: Collection[TopicPartition]) -> Why | None:
    """The cause that keeps all partitions from being read; None if one can be read."""
    away = [one for one in causes if one.cause in _AWAY]
    for one in away:
        if one.cause in _OF_ALL or (one.cause is Cause.UNKNOWN_TOPIC and "partition" not in one.data):
            return one
    unread = {one.data.get("partition") for one in away}
    is_all = bool(assigned) and all(str(one) in unread for one in assigned)
    return away[0] if is_all else None
