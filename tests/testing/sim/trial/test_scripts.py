"""Scripts wait for time and for answers, and continue in steps of their own."""

from odradek.testing.sim import World
from odradek.testing.sim.trial.scripts import Script, Scripts, Wait


def test_a_script_continues_when_time_has_passed() -> None:
    world = World()
    scripts = Scripts(world.clock)
    world.actors.append(scripts)
    seen: list[int] = []

    def script() -> Script:
        for pause_ms in (10, 5):
            yield scripts.pause(pause_ms)
            seen.append(world.clock.monotonic_ms())

    scripts.start(script())
    assert seen == []
    world.advance(12)
    assert seen == [10]
    assert scripts.running == 1
    world.advance(12)
    assert seen == [10, 15]
    assert scripts.running == 0


def test_what_has_happened_already_still_takes_a_step() -> None:
    world = World()
    scripts = Scripts(world.clock)
    world.actors.append(scripts)
    wait: Wait[str] = Wait()
    wait.finish("answer")
    seen: list[str | None] = []

    def script() -> Script:
        answer = yield wait
        seen.append(answer)

    scripts.start(script())
    assert world.step()
    assert seen == []
    world.settle()
    assert seen == ["answer"]


def test_scripts_that_are_ready_continue_in_their_order() -> None:
    world = World()
    scripts = Scripts(world.clock)
    world.actors.append(scripts)
    seen: list[str] = []

    def script(name: str) -> Script:
        yield scripts.pause(1)
        seen.append(name)

    for name in "abc":
        scripts.start(script(name))
    world.advance(1)
    assert seen == ["a", "b", "c"]
