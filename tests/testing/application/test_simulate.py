"""The decorator: a test under pytest, its seeds, and what a failure says."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from textwrap import dedent

import pytest

from odradek.testing import Cluster, Deadlock, OutOfTime, SettingError, simulate
from odradek.testing.application.simulation import TURNS_PER_MS

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """Run one file of tests."""

    def run(tests: str, *arguments: str) -> pytest.RunResult:
        pytester.makepyfile(test_it=f"from odradek.testing import Cluster, simulate\n{dedent(tests)}")
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


@pytest.mark.slow
@pytest.mark.integration
def test_a_test_that_waits_in_vain_fails_at_its_own_line(run: Run) -> None:
    result = run("""
        import asyncio

        @simulate(brokers=1, seeds=1)
        async def test_deadlock(cluster: Cluster) -> None:
            await asyncio.Event().wait()  # in vain

        @simulate(brokers=1, seeds=1, within=5)
        async def test_out_of_time(cluster: Cluster) -> None:
            while True:
                await asyncio.sleep(1)  # again and again
    """)
    result.assert_outcomes(failed=2)
    said = result.stdout.str()
    assert "traceback entries are hidden" not in said
    assert ">       await asyncio.Event().wait()  # in vain" in said
    assert ">           await asyncio.sleep(1)  # again and again" in said
    assert "simulation.py" not in said, "no frame of Odradek"


def test_time_passes_for_a_test_that_is_never_idle() -> None:
    turns = 0

    @simulate(brokers=1, seeds=1)
    async def test(cluster: Cluster) -> None:
        nonlocal turns
        ends = asyncio.get_running_loop().time() + 0.02
        while asyncio.get_running_loop().time() < ends:
            await asyncio.sleep(0)
            turns += 1

    test()
    assert round(turns / TURNS_PER_MS) == 20


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


def test_the_environment_names_a_range_of_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    @simulate
    async def test(cluster: Cluster) -> None:
        seen.append(cluster.seed)

    monkeypatch.setenv("ODRADEK_SEED", "3-4")
    test()
    assert seen == [3, 4]
    monkeypatch.setenv("ODRADEK_SEED", "many")
    with pytest.raises(SettingError, match=r"a range, such as 0-999, not 'many'"):
        test()


def test_a_wrong_setting_is_named() -> None:
    @simulate(settings={"log.retention.hoors": 1})
    async def test(cluster: Cluster) -> None:
        """It does not run."""

    with pytest.raises(
        SettingError, match=r"no setting log\.retention\.hoors; did you mean log\.retention\.hours"
    ):
        test()


def test_a_failure_has_its_time_and_history_without_the_clean_up() -> None:
    @simulate(brokers=1, seeds=1)
    async def test(cluster: Cluster) -> None:
        async def clean_up_slowly() -> None:
            try:
                await asyncio.sleep(1000)
            finally:
                await asyncio.sleep(20)
                cluster.kill(1)

        cluster.spawn(clean_up_slowly())
        await asyncio.sleep(2)
        raise ValueError("over")

    with pytest.raises(ValueError, match="over") as failed:
        test()
    (note,) = failed.value.__notes__
    assert "seed 0 failed at 2.000 s" in note
    assert "is killed" not in note


def test_a_traceback_ends_at_the_tests_line() -> None:
    @simulate(brokers=1, seeds=1)
    async def test(cluster: Cluster) -> None:
        cluster.kill(7)

    with pytest.raises(LookupError, match="there is no broker 7") as failed:
        test()
    assert [entry.name for entry in failed.traceback[-2:]] == ["run_all", "test"]
    (note,) = failed.value.__notes__
    assert "broker 7" not in note, "what did not happen is not told"


def test_a_bug_of_ours_keeps_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    @simulate(brokers=1, seeds=1)
    async def test(cluster: Cluster) -> None:
        monkeypatch.setattr(cluster, "_world", None)
        cluster.heal()

    with pytest.raises(AttributeError) as failed:
        test()
    assert [entry.name for entry in failed.traceback[-2:]] == ["test", "heal"]


def test_brokers_log_on_request_only(caplog: pytest.LogCaptureFixture) -> None:
    @simulate(brokers=3, seeds=1)
    async def test(cluster: Cluster) -> None:
        await cluster.create_topic("orders")
        cluster.kill(1)
        await asyncio.sleep(20)

    log = logging.getLogger("odradek")
    before = log.level
    test()
    assert not [record for record in caplog.records if record.name.startswith("odradek")]
    assert log.level == before
    caplog.set_level("INFO", "odradek")
    test()
    assert [record for record in caplog.records if record.name.startswith("odradek")]


@pytest.mark.parametrize("outcome", ["passed", "failed: AssertionError: lost"])
def test_the_environment_asks_for_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outcome: str
) -> None:
    @simulate(brokers=1, seeds=1)
    async def test_orders(cluster: Cluster) -> None:
        await cluster.create_topic("orders")
        if outcome != "passed":
            raise AssertionError("lost")

    monkeypatch.setenv("ODRADEK_TRACE", str(tmp_path / "history.html"))
    with nullcontext() if outcome == "passed" else pytest.raises(AssertionError) as failed:
        test_orders()
    page = (tmp_path / "history.html").read_text()
    assert outcome in page
    assert "orders-0" in page
    if failed is not None:
        assert "Its history is in" in failed.value.__notes__[0]


def test_a_page_that_cannot_be_written_hides_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @simulate(brokers=1, seeds=1)
    async def test_fails(cluster: Cluster) -> None:
        raise AssertionError("the test's own")

    @simulate(brokers=1, seeds=1)
    async def test_passes(cluster: Cluster) -> None:
        pass

    page = tmp_path / "missing" / "history.html"
    monkeypatch.setenv("ODRADEK_TRACE", str(page))
    words = f"ODRADEK_TRACE: cannot write {page}: No such file or directory"
    with pytest.raises(AssertionError, match="the test's own") as failed:
        test_fails()
    assert failed.value.__notes__[0].endswith(f"\n{words}")
    with pytest.raises(SettingError, match=words):
        test_passes()


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
