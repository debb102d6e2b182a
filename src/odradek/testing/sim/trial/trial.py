"""One trial: a seed's cluster under a seed's load and mishaps, looked at by all checkers.

    outcome = run_trial(17)
    outcome.violations          empty if all is well
    outcome.counts              what happened, by kind

A trial goes through three parts: the brokers start and topics are created; for `plan.LOAD_MS` clients send
requests while mishaps happen; then mishaps end, and the cluster has `plan.SETTLING_MS` to get into order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from odradek.base.chance import SeededChance
from odradek.base.error_codes import ErrorCode
from odradek.base.topic_names import OFFSETS_TOPIC
from odradek.base.values import value
from odradek.testing.sim.trial.actions import Told
from odradek.testing.sim.trial.checkers import CHECKERS, Scene, Violation
from odradek.testing.sim.trial.cluster_client import ClusterClient
from odradek.testing.sim.trial.cluster_view import ClusterView
from odradek.testing.sim.trial.counts import Counts
from odradek.testing.sim.trial.group_load import group_scripts
from odradek.testing.sim.trial.load import Load
from odradek.testing.sim.trial.mishaps import Mishaps
from odradek.testing.sim.trial.mistakes import Mistakes, sentence_of
from odradek.testing.sim.trial.plan import LOAD_MS, SETTLING_MS, Mishap, Plan, TopicPlan, draw_plan
from odradek.testing.sim.trial.workloads import clients_of
from odradek.testing.sim.trial.workloads.topics import creation
from odradek.testing.sim.world import World
from odradek.wire.messages.create_topics import CreateTopicsResponse

LOOK_EVERY_STEPS: Final = 12
STEPS_MAX: Final = 20_000
"""How many steps may follow each other without time passing: more is a loop that never ends."""
MISTAKES_MAX: Final = 5
"""How many are kept: one often causes many."""
REVIVE_EVERY_MS: Final = 250
PATIENT_MS: Final = 1_000_000
"""How long a patient client waits for an answer: longer than any trial lasts."""


class _Violated(Exception):
    """Ends a trial that is to stop at its first violation."""


@value
class Outcome:
    """What a trial has shown."""

    plan: Plan
    violations: Sequence[Violation]
    counts: Mapping[str, int]
    told: Sequence[Told]
    """The mishaps as they happened."""
    requests: int
    steps: int


class Trial:
    """One history; `run` once."""

    def __init__(
        self,
        plan: Plan,
        mishaps: Collection[int] | None = None,
        *,
        is_traced: bool = False,
        stops_early: bool = False,
    ) -> None:
        """`mishaps` are the numbers of those that happen; None for all.

        With `stops_early` the trial ends soon after its first violation.
        """
        self.plan = plan
        self.world = World(plan.seed, is_traced=is_traced)
        self.view = ClusterView(self.world)
        self.load = Load(self.world, plan.broker_ids, SeededChance(plan.seed + 1), self.view, plan.topics)
        self.counts = Counts(self.view)
        self.mishaps = Mishaps(plan, self.load, self.view, self.counts)
        self.scene = Scene(
            self.view,
            self.load.history,
            self.mishaps.losses,
            plan,
            self.load.groups,
            self.load.transactions,
        )
        self.checkers = [checker(self.scene) for checker in CHECKERS]
        self.steps = 0
        self._mistakes: list[Violation] = []
        self._stops_early = stops_early
        # The version of the store at which the checkers have looked at it.
        self._store_version = -1
        self._happening = [mishap for mishap in plan.mishaps if mishaps is None or mishap.number in mishaps]

    def run(self) -> Outcome:
        """Run it to its end."""
        with Mistakes(self._on_mistake):
            try:
                self._start()
                self._run_load()
                self._settle()
            except _Violated:
                pass
            except Exception as error:
                self._on_mistake(sentence_of(error))
        violations = [*self._mistakes, *(one for checker in self.checkers for one in checker.found.values())]
        return Outcome(
            self.plan,
            sorted(violations, key=lambda violation: violation.at_ms),
            dict(self.counts.counted),
            tuple(self.mishaps.told),
            self.load.history.requests,
            self.steps,
        )

    def _on_mistake(self, sentence: str) -> None:
        if len(self._mistakes) < MISTAKES_MAX:
            self._mistakes.append(Violation("brokers make no mistakes", self.load.now_ms, sentence))

    # --- its parts

    def _start(self) -> None:
        plan = self.plan
        for broker_id in plan.broker_ids:
            self.world.node(broker_id, **plan.broker_settings)
        controller = self.world.nodes[self.view.controller()]
        # A cluster makes it by itself, with the default min ISR; here nothing of it may be lost.
        first, compacted = plan.topics[0], (("cleanup_policy", "compact"),)
        offsets = TopicPlan(OFFSETS_TOPIC, 1, first.replicas, first.min_isr, compacted)
        for topic in (*plan.topics, *((offsets,) if plan.has_groups else ())):
            request = creation(
                topic.name,
                topic.partitions,
                topic.replicas,
                min_insync_replicas=str(topic.min_isr),
                **dict(topic.settings),
            )
            response: CreateTopicsResponse = controller.ask(request)
            assert response.topics[0].error_code == ErrorCode.NONE, response
        self.mishaps.settle_links()

    def _run_load(self) -> None:
        self._start_clients()
        end_ms = self.load.now_ms + LOAD_MS
        begin_ms = self.load.now_ms
        for mishap in self._happening:
            self._run_to(begin_ms + mishap.at_ms)
            self._strike(mishap)
        self._run_to(end_ms)

    def _strike(self, mishap: Mishap) -> None:
        for _ in range(mishap.after_steps):
            if not self._step():
                break
        self._look()
        self.mishaps.strike(mishap)
        self._look()

    def _settle(self) -> None:
        self.load.is_ending, self.load.ended_ms = True, self.load.now_ms
        self.mishaps.end_all()
        self._run_to(self.load.now_ms + SETTLING_MS)
        self._look()
        self.load.history.waiting = self.load.scripts.running
        for checker in self.checkers:
            checker.conclude()

    def _start_clients(self) -> None:
        load, pause_ms = self.load, self.plan.pause_ms
        load.begin_ms = load.now_ms
        for kind in clients_of(self.plan):
            timeout_ms = PATIENT_MS if kind.is_patient else load.pick((1_000, 4_000))
            client = ClusterClient(load, kind.name, timeout_ms, heeds_epochs=kind.heeds_epochs)
            load.hosts.append(client.host)
            load.scripts.start(kind.make(load, client, pause_ms).run())
        if self.plan.has_groups:
            for group_script in group_scripts(load):
                load.scripts.start(group_script)

    # --- time

    def _run_to(self, end_ms: int) -> None:
        """Let the world go on until a time, with mishaps ending when they are due."""
        world = self.world
        while True:
            self._run_steps()
            now_ms = self.load.now_ms
            if now_ms >= end_ms:
                return
            candidates = [world.next_ms(), self.mishaps.schedule.next_ms(), end_ms, self._revive_ms(now_ms)]
            due_ms = min(each for each in candidates if each is not None)
            world.clock.advance(max(0, due_ms - now_ms))
            self.mishaps.schedule.run_due()
            self.mishaps.revive()

    def _revive_ms(self, now_ms: int) -> int:
        return now_ms - now_ms % REVIVE_EVERY_MS + REVIVE_EVERY_MS

    def _run_steps(self) -> None:
        count = 0
        while self._step():
            count += 1
            assert count < STEPS_MAX, f"{STEPS_MAX} steps at {self.load.now_ms} ms, and no end"

    def _step(self) -> bool:
        if not self.world.step():
            return False
        self.steps += 1
        if self.view.version != self._store_version:
            self._store_version = self.view.version
            self.scene.missed_deletions.on_store()
            for checker in self.checkers:
                checker.on_store()
        if self.steps % LOOK_EVERY_STEPS == 0:
            self._look()
        return True

    def _look(self) -> None:
        self.counts.look()
        for checker in self.checkers:
            checker.look()
        if self._stops_early and (self._mistakes or any(checker.found for checker in self.checkers)):
            raise _Violated


def run_trial(
    seed: int, *, brokers: int = 3, mishaps: Collection[int] | None = None, stops_early: bool = False
) -> Outcome:
    """Run the trial of a seed; with `mishaps`, only those happen; see `Trial`."""
    return Trial(draw_plan(seed, brokers), mishaps, stops_early=stops_early).run()
