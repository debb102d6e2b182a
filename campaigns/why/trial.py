"""One stuck state, drawn from a seed: built, watched for two virtual seconds, and judged.

From one second after the client is stuck on, the first cause that `why()` names must be the true one, with
its data, at each of several looks: a cause that is named now and then helps nobody.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from campaigns.why.scene import Expected, Scene, Stuck
from odradek.client.core.waiting import Why
from odradek.testing.application.cluster import Cluster
from odradek.testing.application.simulation import Simulation

LOOKS_S: Final = (1.0, 1.3, 1.7, 2.0)
"""When `why()` is asked, after the client is stuck."""
DURATION_MS: Final = 1_000
"""How far off the length of a wait may be: clients learn of some from answers, twice a second."""


@dataclass(frozen=True, slots=True)
class State:
    """A kind of stuck state."""

    name: str
    build: Callable[[Scene], Awaitable[Stuck]]
    settings: Mapping[str, str]
    """Settings of the brokers that it needs, under Kafka's names."""
    brokers: int = 3


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one seed."""

    seed: int
    state: str
    expected: Expected | None
    """None if the state could not be built."""
    said: tuple[Why, ...]
    """What `why()` said at the first wrong look, else at the last."""
    fault: str
    """Why that is wrong; empty if it is right."""

    @property
    def is_right(self) -> bool:
        """Whether the true cause was named."""
        return not self.fault


def run_trial(seed: int, state: State) -> Result:
    """Build a state of this kind with what the seed draws, and judge what `why()` says."""
    simulation = Simulation(seed, brokers=state.brokers, settings=state.settings)

    async def watch(cluster: Cluster) -> Result:
        scene = Scene(simulation, cluster)
        try:
            stuck = await state.build(scene)
        except TimeoutError as error:
            return Result(seed, state.name, None, (), str(error))
        try:
            return await _watched(seed, state, stuck, scene)
        finally:
            scene.end()

    return simulation.run(watch)


async def _watched(seed: int, state: State, stuck: Stuck, scene: Scene) -> Result:
    begun_ms = scene.now_ms
    said: list[Why] = []
    for after_s in LOOKS_S:
        await asyncio.sleep((begun_ms + round(after_s * 1000) - scene.now_ms) / 1000)
        said = stuck.client.why()
        fault = judge(said, stuck.expected, scene.now_ms)
        if fault:
            return Result(seed, state.name, stuck.expected, tuple(said), f"after {after_s} s: {fault}")
    return Result(seed, state.name, stuck.expected, tuple(said), "")


def judge(said: list[Why], expected: Expected, now_ms: int) -> str:
    """What is wrong with the first cause that was named; empty if it is the true one."""
    if not said:
        return "no cause is named"
    first = said[0]
    if first.cause is not expected.cause:
        return f"the first cause is {first.cause}, not {expected.cause}"
    for name, value in expected.data.items():
        if first.data.get(name) != value:
            return f"{name} is {first.data.get(name)!r}, not {value!r}"
    if expected.since_ms is not None:
        lasted_ms, told_ms = now_ms - expected.since_ms, first.data.get("ms")
        if not isinstance(told_ms, int) or abs(told_ms - lasted_ms) > DURATION_MS:
            return f"the wait has lasted {told_ms} ms, in truth {lasted_ms}"
    return ""
