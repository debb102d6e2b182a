"""`@simulate`: a test of an asyncio application, run against a simulated cluster once for each seed.

    @simulate(brokers=3, seeds=50)
    async def test_orders(cluster: Cluster) -> None:
        ...

The test takes `cluster`, and any fixtures of pytest beside it. ODRADEK_SEED=17 runs one seed alone,
ODRADEK_SEED=0-999 a range; ODRADEK_TRACE=FILE.html writes the last seed's history as a page.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import shlex
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Final, TypeAlias, overload

from odradek.base.errors import SettingError
from odradek.testing.application.simulation import Simulation
from odradek.testing.setting_texts import SettingValue
from odradek.testing.sim.history.recorder import Recorder
from odradek.testing.sim.page import write_page
from odradek.testing.tracebacks import ending_in_test

Test: TypeAlias = Callable[..., Coroutine[Any, Any, None]]

SEED_VARIABLE: Final = "ODRADEK_SEED"
TRACE_VARIABLE: Final = "ODRADEK_TRACE"
CLUSTER: Final = "cluster"


@overload
def simulate(test: Test, /) -> Callable[..., None]: ...


@overload
def simulate(
    *,
    brokers: int = 3,
    seeds: int | Iterable[int] = 10,
    within: float = 600.0,
    settings: Mapping[str, SettingValue] | None = None,
) -> Callable[[Test], Callable[..., None]]: ...


def simulate(
    test: Test | None = None,
    /,
    *,
    brokers: int = 3,
    seeds: int | Iterable[int] = 10,
    within: float = 600.0,
    settings: Mapping[str, SettingValue] | None = None,
) -> Callable[..., Any]:
    """Makes a coroutine function with the parameter `cluster` a test; `@simulate` or `@simulate(brokers=1)`.

    `seeds` is a number of seeds, or the seeds; `within` limits the virtual seconds of each run; `settings`
    are the brokers', under Kafka's names. What a run raises has a note: what happened, how to replay it.
    """
    chosen = tuple(range(seeds) if isinstance(seeds, int) else seeds)

    def decorate(test: Test) -> Callable[..., None]:
        signature = inspect.signature(test)
        if not inspect.iscoroutinefunction(test) or CLUSTER not in signature.parameters:
            raise TypeError(f"{test.__qualname__} is no coroutine function with a parameter `{CLUSTER}`")

        @functools.wraps(test)
        def run_all(*args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - of the test
            __tracebackhide__ = True
            if asyncio._get_running_loop() is not None:  # noqa: SLF001
                raise RuntimeError(f"{test.__qualname__} runs a loop of its own, so call it outside of any")
            try:
                for passed, seed in enumerate(_seeds(chosen)):
                    simulation = Simulation(seed, brokers=brokers, within=within, settings=settings)
                    traced = _Traced(simulation, test.__qualname__)
                    try:
                        simulation.run(lambda cluster: test(*args, **kwargs, **{CLUSTER: cluster}))
                    except Exception as error:
                        error.add_note(_report(simulation, test.__qualname__, passed) + traced.end(error))
                        raise
                    traced.end(None)
            except Exception as error:
                raise error.with_traceback(ending_in_test(error))  # noqa: B904 - the same error

        parameters = [one for name, one in signature.parameters.items() if name != CLUSTER]
        run_all.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=parameters, return_annotation=None
        )
        del run_all.__wrapped__  # pytest-asyncio would find a coroutine function
        return run_all

    return decorate if test is None else decorate(test)


def _seeds(chosen: tuple[int, ...]) -> tuple[int, ...]:
    only = os.environ.get(SEED_VARIABLE)
    if not only:
        return chosen
    first, _, last = only.partition("-")
    try:
        return tuple(range(int(first), int(last or first) + 1))
    except ValueError:
        raise SettingError(
            f"{SEED_VARIABLE} is a seed, such as 17, or a range, such as 0-999, not {only!r}"
        ) from None


class _Traced:
    """Records a run, and writes it as a page, if the environment asks for that."""

    def __init__(self, simulation: Simulation, name: str) -> None:
        self._path = os.environ.get(TRACE_VARIABLE)
        self._title = f"{name}, seed {simulation.seed}"
        self._recorder = Recorder(simulation.world) if self._path else None

    def end(self, error: Exception | None) -> str:
        """Write the page. Returns a line that says so, or nothing.

        Raises SettingError if that fails after a run that passed; after another, the line says why.
        """
        if not self._path or self._recorder is None:
            return ""
        outcome = "passed" if error is None else f"failed: {type(error).__name__}: {error}".splitlines()[0]
        try:
            write_page(self._recorder, self._path, title=self._title, outcome=outcome)
        except OSError as refused:
            why = f"{TRACE_VARIABLE}: cannot write {self._path}: {refused.strerror}"
            if error is None:
                raise SettingError(why) from None
            return f"\n{why}"
        return f"\nIts history is in {self._path}"


def _report(simulation: Simulation, name: str, passed: int) -> str:
    """What a failure says below its traceback."""
    at_s = simulation.failed_ms / 1000
    before = f" ({passed} passed before it)" if passed else ""
    lines = [
        "",
        f"Simulation of {name}: seed {simulation.seed} failed at {at_s:.3f} s{before}",
        "",
        *simulation.told,
        "",
        f"Replay it: {_command(simulation.seed, name)}",
    ]
    if _hashes_at_random():
        lines.append(
            "(If it passes then: the order of a set of texts matters. Set PYTHONHASHSEED for all runs.)"
        )
    return "\n".join(lines)


def _command(seed: int, name: str) -> str:
    hash_seed = f"PYTHONHASHSEED={0 if _hashes_at_random() else os.environ['PYTHONHASHSEED']} "
    test, _, _ = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")
    if not test:
        return f"{hash_seed}{SEED_VARIABLE}={seed} {shlex.join([sys.executable, *sys.argv])}"
    return f"{hash_seed}{SEED_VARIABLE}={seed} pytest {shlex.quote(test)}"


def _hashes_at_random() -> bool:
    return os.environ.get("PYTHONHASHSEED", "random") == "random"
