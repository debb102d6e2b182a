"""Every block in README and docs/testing.md that is for pytest is run as its reader would run it."""

import re
from types import ModuleType, SimpleNamespace

import pytest

from odradek.testing import Broker, LocalCluster
from tests.docs.blocks import Runner, blocks_run_by

pytest_plugins = ["pytester"]
pytestmark = [pytest.mark.integration, pytest.mark.slow]

BLOCKS = {block.place: block.text for block in blocks_run_by(Runner.PYTEST) if block.language == "python"}
TESTS = {name: block for name, block in BLOCKS.items() if re.search(r"^\s*(async )?def test_", block, re.M)}
OTHERS = {name: block for name, block in BLOCKS.items() if name not in TESTS}


@pytest.fixture(scope="module", autouse=True)
def code_is_loaded() -> None:
    """A run within this process forgets the modules that it has loaded, and the next one gets them twice."""
    with LocalCluster() as cluster:
        cluster.delete_topic(cluster.create_topic())


@pytest.mark.parametrize("name", TESTS)
def test_a_block_of_tests_passes(pytester: pytest.Pytester, name: str) -> None:
    pytester.makepyfile(test_block=TESTS[name])
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    result = pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider")
    outcomes = result.parseoutcomes()
    assert outcomes.pop("passed") >= 1
    assert not outcomes, result.stdout.str()


def test_other_blocks_are_known() -> None:
    """Who adds one adds a test that runs it."""
    assert sorted(block.splitlines()[0] for block in OTHERS.values()) == [
        "# with behave: features/environment.py",
        "from odradek.spark.session import spark_session",
    ]


def test_the_block_for_behave(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for behave: `use_fixture` runs a generator up to its yield."""
    started = []

    def use_fixture(fixture: object, context: object) -> None:
        running = fixture(context)  # type: ignore[operator]
        next(running)
        started.append(running)

    behave = ModuleType("behave")
    behave.__dict__.update(fixture=lambda function: function, use_fixture=use_fixture)
    monkeypatch.setitem(__import__("sys").modules, "behave", behave)
    (block,) = [block for block in OTHERS.values() if "behave" in block]
    environment: dict[str, object] = {}
    exec(block, environment)
    context = SimpleNamespace()
    environment["before_all"](context)  # type: ignore[operator]
    broker: Broker = context.broker
    broker.produce("orders", "lamp")
    assert broker.is_running
    next(started[0], None)
    assert not broker.is_running


@pytest.mark.spark
def test_the_block_for_spark(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyspark")
    (block,) = [block for block in OTHERS.values() if "spark" in block]
    with Broker() as broker:
        broker.produce("flights", "EWR to IAH")
        assert '"127.0.0.1:9092"' in block
        exec(block.replace("127.0.0.1:9092", broker.bootstrap_servers), {})
    assert "flights" in capfd.readouterr().out


def test_the_block_for_the_ini_file(pytester: pytest.Pytester) -> None:
    (block,) = [block for block in blocks_run_by(Runner.PYTEST) if block.language == "ini"]
    pytester.makeini(f"{block.text}\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile("""
        def test_settings(odradek_broker):
            assert odradek_broker.settings["num.partitions"] == "2"
            assert odradek_broker.settings["log.retention.hours"] == "1"
            assert odradek_broker.process
    """)
    pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider").assert_outcomes(passed=1)
