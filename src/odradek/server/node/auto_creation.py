"""Makes topics that clients name and that do not exist (`auto.create.topics.enable`).

    make(a, b)       the controller decides about both
    a is made        answered when all its partitions have leaders here, within WAIT_MS_MAX
    b is refused     its error; why is logged, since a client shows the code at most

A client names a topic again and again until it is there: a refusal is logged when it is another one than the
last one for that topic.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeAlias

from odradek.base.clock import Clock
from odradek.base.error_codes import ErrorCode
from odradek.base.execution import deliver
from odradek.base.ids import TopicId
from odradek.base.visible import visible
from odradek.metadata.controller.requests import (
    Answer,
    CreateTopics,
    NewTopic,
    Refused,
    TopicOutcome,
    TopicOutcomes,
)
from odradek.metadata.image import ClusterImage
from odradek.server.edge.complaints import Complaints
from odradek.server.node.forwarding.any_controller import ControllerPort
from odradek.server.node.topic_waits import DelayedCreateTopics, Late
from odradek.timer import Purgatory

_log = logging.getLogger(__name__)

WAIT_MS_MAX: Final = 5_000
"""How long an answer waits for new topics; then it is LEADER_NOT_AVAILABLE, and the creation continues."""
LOGGED_AT_ONCE: Final = 20
"""Of how many topics that one request names the refusals are logged."""
REFUSALS_MAX: Final = 200
"""How many topics' last refusals are kept."""
_ANY: Final = "a topic"
"""What is said not to be created while no controller decides."""

Failures: TypeAlias = Mapping[str, ErrorCode]
"""Why topics are not there yet, by name."""


class AutoCreation:
    """The creations of topics that clients of one broker named."""

    def __init__(
        self,
        image: ClusterImage,
        controller: ControllerPort,
        waits: Purgatory[str],
        clock: Clock,
    ) -> None:
        """`waits` is the purgatory of operations that wait for topics (G3)."""
        self._image = image
        self._controller = controller
        self._waits = waits
        self._clock = clock
        self._complaints = Complaints(_log, clock, "%d more topics were not created for clients")
        # Why topics were refused, as last logged, by what was said of them; the oldest first.
        self._refusals: dict[str, str] = {}

    def make(self, names: Collection[str], made: Callable[[Failures], None]) -> None:
        """Make topics and wait for their leaders; `made` gets the errors of those that have none then."""
        deadline_ms = self._clock.monotonic_ms() + WAIT_MS_MAX

        def decided(answer: Answer) -> None:
            if isinstance(answer, Refused):
                self._note(_ANY, answer.error, answer.message)
                made(dict.fromkeys(names, ErrorCode.LEADER_NOT_AVAILABLE))
                return
            assert isinstance(answer, TopicOutcomes), answer
            self._refusals.pop(_ANY, None)
            failures: dict[str, ErrorCode] = {}
            created: dict[str, TopicId] = {}
            refused: list[tuple[str, TopicOutcome]] = []
            for name, outcome in zip(names, answer.topics, strict=True):
                if outcome.error in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                    failures[name] = ErrorCode.LEADER_NOT_AVAILABLE  # it is being made
                else:
                    failures[name] = outcome.error
                    refused.append((name, outcome))
                if not outcome.error:
                    created[name] = outcome.topic_id
            for name, outcome in refused[:LOGGED_AT_ONCE]:
                self._note(f"the topic {visible(name)}", outcome.error, outcome.message)
            if not created:
                made(failures)
                return

            def answered(late: Late) -> None:
                made(failures)

            waiting = DelayedCreateTopics(deadline_ms, self._image, created, answered)
            deliver(waiting.park(self._waits, list(created)), answered)

        self._controller.submit(CreateTopics(tuple(NewTopic(name) for name in names)), decided)

    def _note(self, what: str, error: ErrorCode, message: str | None) -> None:
        """Log a refusal, unless it was the last one of the same, too."""
        reason = f"{error.name}: {message}" if message else error.name
        if self._refusals.get(what) == reason:
            return
        if len(self._refusals) >= REFUSALS_MAX:
            del self._refusals[next(iter(self._refusals))]
        self._refusals[what] = reason
        self._complaints.say(
            "%s was not created for a client that named it: %s", what, reason, fields={"error": error.name}
        )
