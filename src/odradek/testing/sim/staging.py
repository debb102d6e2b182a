"""Carries out the stages of a start or a stop of one life, each in steps of the world.

    begin(stages.start(...))    its first stage is begun
    steps() -> [go on]          what the stage waits for is there: it ends, and the next one begins
    drop()                      a crash: nothing more is carried out, and nothing undone

`server.process.lifecycle` does the same on a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import GEN_RUNNING, getgeneratorstate
from typing import TYPE_CHECKING, Any

from odradek.base.errors import OdradekError
from odradek.metadata.store import run_in_session
from odradek.server.edge.addresses import BROKERS
from odradek.server.node import stages
from odradek.testing.sim.listener import CLIENTS
from odradek.timer import TimedCall

if TYPE_CHECKING:
    from odradek.testing.sim.node import SimNode


class Staging:
    """The sequence of stages that one life goes through, if it goes through one."""

    def __init__(self, node: SimNode) -> None:
        self.stage: stages.Stage | None = None
        """The one that is being carried out; None while the node serves, and when it is over."""
        self.error: BaseException | None = None
        """What the start ended with; None when it has not ended so."""
        self._node = node
        # None before `begin`.
        self._sequence: stages.Sequence[Any] | None = None
        # Whether the stage may end now; None when it is another event that ends it.
        self._may_go_on: Callable[[], bool] | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether a stage is being carried out."""
        return self.stage is not None

    def begin(self, sequence: stages.Sequence[Any]) -> None:
        """Begin to carry out stages."""
        self._sequence = sequence
        self._go_on(None)

    def drop(self) -> None:
        """Stop carrying out stages."""
        sequence = self._sequence
        if sequence is not None and getgeneratorstate(sequence) != GEN_RUNNING:  # else it ends in `_resume`
            sequence.close()
        self.stage, self._may_go_on = None, None

    def fail(self, error: BaseException) -> None:
        """Let the stage end with an error."""
        sequence = self._running()
        self._resume(lambda: sequence.throw(error))

    def steps(self) -> list[Callable[[], None]]:
        """What may happen next: the end of the stage, or what its clients wait for."""
        found: list[Callable[[], None]] = []
        if self._may_go_on is not None and self._may_go_on():
            found.append(partial(self._go_on, None))
        if isinstance(self.stage, stages.AwaitClients):
            clients = self._node.listeners.of(CLIENTS)
            found.extend(one.close for one in clients if one.is_open and not one.is_handling)
        return found

    def _running(self) -> stages.Sequence[Any]:
        assert self._sequence is not None, "no stage was begun"
        return self._sequence

    def _go_on(self, result: object) -> None:
        sequence = self._running()
        self._resume(lambda: sequence.send(result))

    def _resume(self, resume: Callable[[], stages.Stage]) -> None:
        self._may_go_on = None
        node = self._node
        try:
            stage = resume()
        except StopIteration as end:
            self.stage = None
            if end.value is None:
                node.end()
        except Exception as error:
            self.stage, self.error = None, error
            node.end()
        else:
            if node.is_over:  # killed by what the sequence did just now
                self._running().close()
                return
            self.stage = stage
            node.world.record(f"{node.broker_id} {type(stage).__name__}")
            self._carry_out(stage, node)

    def _carry_out(self, stage: stages.Stage, node: SimNode) -> None:
        listeners = node.listeners
        match stage:
            case stages.ReadStore(process):
                run_in_session(node.open_session(), process, node.life.report(self._on_outcome))
            case stages.OpenLogs(call) | stages.CloseLogs(call):
                node.calls.submit(
                    self._unless_over(call), self._if_living(self._go_on), self._if_living(self.fail)
                )
            case stages.AdmitBrokers(opened):
                node.opened(opened)
                listeners.admitted.add(BROKERS)
                self._may_go_on = _at_once
            case stages.Join(opened, endpoints):
                opened.join(endpoints, node.life.report(self._on_outcome))
            case stages.AdmitClients():
                listeners.admitted.add(CLIENTS)
                self._may_go_on = _at_once
            case stages.HandOver(stopping):
                stopping.core.hand_over.begin(node.life.call(partial(self._go_on, None)))
            case stages.RefuseClients():
                listeners.admitted.discard(CLIENTS)
                self._may_go_on = _at_once
            case stages.AwaitClients():
                deadline_ms = node.clock.monotonic_ms() + stages.DRAIN_MS_MAX
                node.timer.add(TimedCall(deadline_ms, lambda: listeners.abort_all(CLIENTS)))
                self._may_go_on = lambda: not listeners.of(CLIENTS)
            case stages.EndCompaction():
                self._may_go_on = _at_once
            case stages.RefuseBrokers():
                listeners.admitted.discard(BROKERS)
                listeners.abort_all(BROKERS)
                self._may_go_on = _at_once
            case stages.AwaitWork():
                self._may_go_on = lambda: node.calls.is_at_rest and not node.session.has_requests

    def _on_outcome(self, outcome: object) -> None:
        if isinstance(outcome, OdradekError):
            self.fail(outcome)
        else:
            self._go_on(outcome)

    def _unless_over(self, call: Callable[[], object]) -> Callable[[], object]:
        return lambda: None if self._node.is_over else call()

    def _if_living(self, report: Callable[[Any], None]) -> Callable[[Any], None]:
        return lambda outcome: None if self._node.is_over else report(outcome)


def _at_once() -> bool:
    return True
