"""The decorator: a test under pytest, its seeds, and what a failure says."""

import asyncio
from collections.abc import Callable

import pytest

from odradek.testing import Cluster, Deadlock, OutOfTime, simulate

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """Run one file of tests."""

    def run(tests: str, *arguments: str) -> pytest.RunResult:
        pytester.makepyfile(test_it=f"from odradek.testing import Cluster, simulate\n{tests}")
        pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
        return pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", *arguments)

    return run


def test_each_seed_is_run_once() -> None:
    seen: list[int] = []

    @simulate(brokers=1, seeds=3)
    async def test(cluster: Cluster) -> None:
        seen.append(cluster.seed)

    test()
    assert seen == [0, 1, 2]


def test_the_environment_names_one_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    @simulate(brokers=1, seeds=[5, 6])
    async def test(cluster: Cluster) -> None:
        seen.append(cluster.seed)

    monkeypatch.setenv("ODRADEK_SEED", "17")
    test()
    assert seen == [17]


def test_settings_are_the_brokers() -> None:
    @simulate(brokers=1, seeds=1, settings={"auto.create.topics.enable": False, "num.partitions": 7})
    async def test(cluster: Cluster) -> None:
        await cluster.create_topic("orders", partitions=-1)
        assert len(cluster._partitions("orders", None)) == 7

    test()


def test_a_failure_says_its_seed_what_happened_and_how_to_replay_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "tests/test_orders.py::test_orders[a b] (call)")

    @simulate(brokers=2, seeds=[7, 8])
    async def test_orders(cluster: Cluster) -> None:
        await cluster.create_topic("orders")
        await asyncio.sleep(2)
        cluster.kill(2)
        await asyncio.sleep(1)
        assert cluster.seed == 7, "the second"

    with pytest.raises(AssertionError, match="the second") as failed:
        test_orders()
    (note,) = failed.value.__notes__
    lines = [line.strip() for line in note.splitlines()]
    assert "test_orders: seed 8 failed at 3.000 s (1 passed before it)" in lines[1]
    assert "0.000 s  orders-0 is led by 1, epoch 0, ISR [1, 2]" in note
    assert lines.index("2.000 s  broker 2 is killed") < lines.index("2.000 s  broker 2 has left")
    assert "2.000 s  orders-0 is led by 1, epoch 1, ISR [1]" in lines
    assert lines[-1] == (
        "Replay it: PYTHONHASHSEED=0 ODRADEK_SEED=8 pytest 'tests/test_orders.py::test_orders[a b]'"
    )


def test_a_test_that_nothing_can_wake_is_a_deadlock_with_names() -> None:
    @simulate(brokers=1, seeds=1)
    async def test(cluster: Cluster) -> None:
        async def wait_for_ever() -> None:
            await asyncio.Event().wait()

        waiting = asyncio.create_task(wait_for_ever(), name="the forgotten")
        await waiting

    with pytest.raises(Deadlock, match="nothing can wake the application") as failed:
        test()
    assert "the forgotten waits in" in str(failed.value)
    assert "wait_for_ever (test_simulate.py:" in str(failed.value)


def test_a_test_that_does_not_end_is_out_of_time() -> None:
    @simulate(brokers=1, seeds=1, within=30)
    async def test(cluster: Cluster) -> None:
        while True:
            await asyncio.sleep(1)

    with pytest.raises(
        OutOfTime, match=r"not at its end after 30 s of virtual time; .*\n  test: test waits in"
    ):
        test()


def test_time_passes_for_a_test_that_is_never_idle() -> None:
    @simulate(brokers=1, seeds=1)
    async def test(cluster: Cluster) -> None:
        ends = asyncio.get_running_loop().time() + 0.02
        while asyncio.get_running_loop().time() < ends:
            await asyncio.sleep(0)

    test()


def test_only_a_coroutine_function_with_a_cluster_is_simulated() -> None:
    with pytest.raises(TypeError, match="no coroutine function with a parameter `cluster`"):

        @simulate()
        async def test() -> None:
            """It has nothing to do with a cluster."""


def test_a_simulation_inside_a_loop_is_refused() -> None:
    @simulate(brokers=1, seeds=1)
    async def test(cluster: Cluster) -> None:
        """It is not run."""

    async def call() -> None:
        with pytest.raises(RuntimeError, match="call it outside"):
            test()

    asyncio.run(call())


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_fixtures_parameters_and_methods_work_whatever_pytest_asyncio_does(run: Run, mode: str) -> None:
    result = run(
        """
import asyncio, pytest

@pytest.fixture
def name():
    return "orders"

@pytest.mark.parametrize("partitions", [1, 2])
@simulate(brokers=1, seeds=2)
async def test_a_topic(cluster: Cluster, name, partitions):
    await cluster.create_topic(name, partitions=partitions)

class TestTopics:
    @simulate(brokers=1, seeds=1)
    async def test_a_topic(self, cluster: Cluster, name: str) -> None:
        await cluster.create_topic(name)
        await asyncio.sleep(1)
""",
        "-o",
        f"asyncio_mode={mode}",
    )
    result.assert_outcomes(passed=3)


@pytest.mark.slow
def test_pytest_shows_the_assertion_the_history_and_the_command(run: Run) -> None:
    result = run(
        """
@simulate(brokers=1, seeds=[4])
async def test_a_topic(cluster: Cluster):
    await cluster.create_topic("orders")
    assert cluster.in_sync("orders") == [2]
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*assert [[]1] == [[]2]*",
            "*seed 4 failed at 0.000 s",
            "*orders-0 is led by 1, epoch 0, ISR*",
            "*ODRADEK_SEED=4 pytest test_it.py::test_a_topic*",
        ]
    )
    result.stdout.no_fnmatch_line("*def run_all*")
