"""The plugin as users have it: in runs of pytest of their own, with nothing imported."""

from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
pytestmark = [pytest.mark.integration, pytest.mark.slow]

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """Run one file of tests in this process."""

    def run(tests: str, *arguments: str, ini: str = "") -> pytest.RunResult:
        pytester.makepyfile(test_it=tests)
        pytester.makeini(f"[pytest]\nasyncio_default_fixture_loop_scope = function\n{ini}")
        return pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider", *arguments)

    return run


def test_all_tests_share_one_broker_and_each_has_its_topic(run: Run) -> None:
    result = run(
        """
        seen = set()

        def look(broker, topic):
            assert broker.topics() == [topic]
            seen.add((broker.bootstrap_servers, topic))

        def test_one(odradek_broker, odradek_topic):
            look(odradek_broker, odradek_topic)

        def test_two(odradek_broker, odradek_topic):
            look(odradek_broker, odradek_topic)
            assert len(seen) == 2
            assert len({address for address, _ in seen}) == 1
        """
    )
    result.assert_outcomes(passed=2)


def test_a_test_may_delete_its_topic(run: Run) -> None:
    result = run(
        """
        def test_deletes(odradek_broker, odradek_topic):
            odradek_broker.delete_topic(odradek_topic)

        @__import__("pytest").mark.odradek
        def test_ends_the_broker(odradek_broker, odradek_topic):
            odradek_broker.kill()
        """
    )
    result.assert_outcomes(passed=2)


@pytest.mark.parametrize("verb", ["clock.advance(seconds=1)", "stop()", "kill()", "restart()", "pause()"])
def test_what_would_reach_other_tests_is_refused_on_the_shared_broker(run: Run, verb: str) -> None:
    result = run(f"def test_it(odradek_broker):\n    odradek_broker.{verb}\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*SharedBrokerError*@pytest.mark.odradek*odradek_function_broker*"])


def test_a_marked_test_has_a_broker_of_its_own(run: Run) -> None:
    result = run(
        """
        import pytest
        from datetime import timedelta

        addresses = []

        def test_shared(odradek_broker):
            addresses.append(odradek_broker.bootstrap_servers)

        @pytest.mark.odradek(settings={"num.partitions": 3, "log.retention.ms": timedelta(minutes=1)})
        def test_own(odradek_broker, odradek_topic):
            addresses.append(odradek_broker.bootstrap_servers)
            assert odradek_broker.settings["num.partitions"] == "3"
            assert odradek_broker.settings["log.retention.ms"] == "60000"
            odradek_broker.clock.advance(days=1)

        def test_shared_again(odradek_broker):
            assert odradek_broker.bootstrap_servers == addresses[0] != addresses[1]
        """,
        "-rp",
    )
    result.assert_outcomes(passed=3)
    result.stdout.re_match_lines([r"PASSED test_it.py::test_own$"])


def test_scopes(run: Run) -> None:
    result = run(
        """
        import pytest

        seen = {"module": [], "class": [], "function": [], "marked": []}

        class TestClass:
            def test_a(self, odradek_module_broker, odradek_class_broker, odradek_function_broker):
                seen["module"].append(odradek_module_broker)
                seen["class"].append(odradek_class_broker)
                seen["function"].append(odradek_function_broker)

            def test_b(self, odradek_module_broker, odradek_class_broker, odradek_function_broker):
                assert [odradek_module_broker] == seen["module"]
                assert [odradek_class_broker] == seen["class"]
                assert [odradek_function_broker] != seen["function"]
                assert odradek_module_broker is not odradek_class_broker

        def test_c(odradek_module_broker):
            assert [odradek_module_broker] == seen["module"]
            assert not seen["class"][0].is_running

        @pytest.mark.odradek(scope="class", settings={"num.partitions": 2})
        class TestMarked:
            def test_d(self, odradek_broker):
                seen["marked"].append(odradek_broker)

            def test_e(self, odradek_broker):
                assert [odradek_broker] == seen["marked"]
        """
    )
    result.assert_outcomes(passed=5)


def test_settings_come_from_the_ini_file_and_over_them_from_markers(run: Run) -> None:
    result = run(
        """
        import pytest

        def test_ini(odradek_broker, odradek_broker_factory):
            for broker in odradek_broker, odradek_broker_factory():
                assert broker.settings["num.partitions"] == "2"
                assert broker.settings["log.retention.hours"] == "1"

        @pytest.mark.odradek(settings={"num.partitions": 5})
        def test_marked(odradek_broker, odradek_function_broker):
            for broker in odradek_broker, odradek_function_broker:
                assert broker.settings["num.partitions"] == "5"
                assert broker.settings["log.retention.hours"] == "1"
        """,
        ini="odradek_settings =\n    num.partitions=2\n    log.retention.hours = 1\n",
    )
    result.assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("marker", "hint"),
    [
        ("settings={'num.partition': 3}", "*there is no setting num.partition; did you mean num.partitions?"),
        (
            "setting={}",
            "*test_it.py::test_it: the marker odradek takes no setting, did you mean settings?"
            " It takes settings, process, scope, follow_patched_time*",
        ),
        ("settings=3", "*settings of the marker odradek are a dict, not 3*"),
        ("process=True, follow_patched_time=True", "*runs on real time*"),
        ("scope='file'", "*there is no scope 'file'*"),
        ("{'num.partitions': 3}", "*takes named arguments*"),
    ],
)
def test_a_wrong_marker_is_refused_with_a_hint(run: Run, marker: str, hint: str) -> None:
    result = run(
        f"""
        import pytest

        @pytest.mark.odradek({marker})
        def test_it(odradek_broker):
            pass

        def test_of_the_same_module():
            pass
        """
    )
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines([hint])
    result.stdout.no_fnmatch_line("*src/odradek/*")
    result.stdout.no_fnmatch_line("*During handling*")


def test_a_marker_that_could_have_no_effect_is_refused(run: Run) -> None:
    result = run(
        """
        import pytest

        @pytest.mark.odradek(settings={"num.partitions": 3})
        def test_it(odradek_module_broker):
            pass
        """
    )
    result.stdout.fnmatch_lines(["*uses neither odradek_broker nor*"])
    result.assert_outcomes(errors=1)


def test_a_marker_in_a_test_case_of_unittest_is_refused(run: Run) -> None:
    result = run(
        """
        import unittest

        import pytest

        @pytest.mark.odradek(settings={"num.partitions": 3})
        class TestIt(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def take(self, odradek_broker):
                self.broker = odradek_broker

            def test_it(self):
                pass
        """
    )
    result.stdout.fnmatch_lines(["*has no effect in a unittest.TestCase: start a Broker in its setUp*"])


def test_a_marker_of_one_set_of_parameters_names_the_fixture_that_reads_it(run: Run) -> None:
    result = run(
        """
        import pytest

        three = pytest.mark.odradek(settings={"num.partitions": 3})

        @pytest.mark.parametrize("number", [pytest.param("3", marks=three), None])
        def test_refused(odradek_broker, number):
            assert number is None

        @pytest.mark.parametrize("number", [pytest.param("3", marks=three), None])
        def test_read(odradek_function_broker, number):
            assert odradek_function_broker.settings.get("num.partitions") == number
        """
    )
    result.assert_outcomes(errors=1, passed=3)
    result.stdout.fnmatch_lines(["*pytest.param(..., marks=...) has no effect*take odradek_function_broker*"])


WRONG_CALLS = """
import pytest
from odradek.testing import Broker

def test_setting(odradek_broker_factory):
    odradek_broker_factory(settings={"num.partition": 3})

def test_made_by_hand():
    Broker(settings={"num.partition": 3})

def test_fault(odradek_broker):
    odradek_broker.faults.error("Produced", "NOT_COORDINATOR")

def test_topic(odradek_broker):
    odradek_broker.records("nothing")

def test_wait(odradek_broker, odradek_topic):
    odradek_broker.wait_for(odradek_topic, 1, timeout=0)

def test_shared(odradek_broker):
    odradek_broker.kill()

def test_argument(odradek_broker):
    odradek_broker.faults.drop(apo="Fetch")

@pytest.mark.odradek
def test_back(odradek_broker):
    odradek_broker.clock.advance(days=-1)

@pytest.mark.asyncio
async def test_awaited(odradek_broker):
    await odradek_broker.aio.records("nothing")
"""


def test_a_traceback_ends_at_the_line_of_the_test(run: Run) -> None:
    result = run(WRONG_CALLS)
    result.assert_outcomes(failed=9)
    result.stdout.no_fnmatch_line("*odradek/*.py:*")
    result.stdout.no_fnmatch_line("*concurrent/futures*")
    assert sum(line.startswith("test_it.py:") for line in result.outlines) == 9


def test_what_a_broker_logs_is_in_no_report_unless_it_is_asked_for(run: Run) -> None:
    """Below ERROR; a broker that starts again after a crash warns."""
    result = run(
        """
        import logging

        import pytest

        def crash(broker):
            broker.create_topic()
            broker.kill()
            broker.start()

        @pytest.mark.odradek
        def test_by_default(odradek_broker, caplog):
            with caplog.at_level(logging.INFO):
                crash(odradek_broker)
            assert [one for one in caplog.records if one.name.startswith("odradek")] == []

        @pytest.mark.odradek
        def test_asked_for(odradek_broker, caplog):
            with caplog.at_level(logging.INFO, "odradek"):
                crash(odradek_broker)
            assert "not stopped cleanly" in caplog.text
        """
    )
    result.assert_outcomes(passed=2)


def test_fixtures_of_a_session_outlive_a_marked_test(run: Run) -> None:
    result = run(
        """
        import pytest

        @pytest.fixture(scope="session")
        def topic(odradek_broker):
            return odradek_broker.create_topic("of-the-session-" + odradek_broker.bootstrap_servers[-5:])

        def test_before(odradek_broker, topic):
            assert topic in odradek_broker.topics()
            odradek_broker.delete_topic(topic)

        @pytest.mark.odradek
        def test_marked(odradek_broker):
            assert odradek_broker.topics() == []

        def test_after(odradek_broker, topic):
            assert topic in odradek_broker.topics()
        """
    )
    result.assert_outcomes(passed=3)


def test_a_topic_is_made_as_its_marker_says(run: Run) -> None:
    result = run(
        """
        import pytest
        from datetime import timedelta
        from odradek import Admin
        from odradek.client.core.admin.configs import TOPIC_RESOURCE

        @pytest.mark.odradek_topic(partitions=3, configs={"retention.ms": timedelta(seconds=1)})
        def test_it(odradek_broker, odradek_topic):
            with Admin(odradek_broker.bootstrap_servers) as admin:
                assert len(admin.describe_topics([odradek_topic])[0].partitions) == 3
                configs = admin.describe_configs("topic", odradek_topic)
                assert {one.name: one.value for one in configs}["retention.ms"] == "1000"
        """
    )
    result.assert_outcomes(passed=1)


def test_the_log_of_a_process_is_in_the_report_of_a_failed_test(run: Run, pytester: pytest.Pytester) -> None:
    """And in no other; its files are removed."""
    result = run(
        """
        import pytest
        from pathlib import Path

        @pytest.mark.odradek(process=True)
        def test_fails(odradek_broker, odradek_topic):
            odradek_broker.kill()
            odradek_broker.start()  # warns that logs are verified
            Path("where").write_text(str(odradek_broker.process.log_path))
            assert False, "on purpose"
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*Log of <a broker in a process of its own, on 127.0.0.1:*", "*not stopped cleanly*"]
    )
    assert not Path((pytester.path / "where").read_text()).parent.exists()


def test_the_log_of_a_cluster_is_in_the_report_of_a_failed_test(run: Run) -> None:
    """Each line names its broker; nothing of it is logged elsewhere, unless it is asked for."""
    result = run(
        """
        import logging

        def test_fails(odradek_cluster):
            odradek_cluster.create_topic("orders")
            odradek_cluster.kill(2)
            odradek_cluster.start(2)  # warns that logs are verified
            assert False, "on purpose"

        def test_starts_the_shared_one(odradek_session_cluster):
            pass

        def test_fails_on_a_shared_one(odradek_session_cluster):
            odradek_session_cluster.create_topic("payments")
            assert False, "on purpose"

        def test_is_not_logged_elsewhere(odradek_session_cluster, caplog):
            with caplog.at_level(logging.INFO):
                odradek_session_cluster.create_topic("parcels")
            assert [one for one in caplog.records if one.name.startswith("odradek")] == []

        def test_asks_for_it(odradek_session_cluster, caplog):
            with caplog.at_level(logging.INFO, "odradek"):
                odradek_session_cluster.create_topic("letters")
            assert "topics created: letters" in caplog.text
        """
    )
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines_random(
        [
            "*- Log of <a cluster of 3 brokers in this process, 3 running> -*",
            "*broker 1   INFO *: topics created: orders",
            "*broker 3   INFO *: topics created: orders",
            "*broker 2   WARNING *not stopped cleanly*",
        ]
    )
    shared = str(result.stdout).rpartition("Log of ")[2]
    assert "topics created: payments" in shared
    assert "topics created: __consumer_offsets" not in shared, "of the cluster's start, in an earlier test"
    result.stdout.no_fnmatch_line("*parcels*")


@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_anyio(run: Run, loop: str) -> None:
    result = run(
        f"""
        import pytest

        @pytest.fixture
        def anyio_backend():
            return "{loop}"

        @pytest.mark.anyio
        async def test_it(odradek_broker, odradek_topic):
            assert odradek_broker.topics() == [odradek_topic]
        """
    )
    result.assert_outcomes(passed=1)


def test_asyncio(run: Run) -> None:
    """With a client on the test's own loop, which the broker does not share."""
    result = run(
        """
        import pytest
        from aiokafka import AIOKafkaProducer

        @pytest.mark.asyncio
        async def test_it(odradek_broker, odradek_topic):
            async with AIOKafkaProducer(bootstrap_servers=odradek_broker.bootstrap_servers) as producer:
                sent = await producer.send_and_wait(odradek_topic, b"order 1")
                assert sent.offset == 0
        """
    )
    result.assert_outcomes(passed=1)


def test_each_worker_of_xdist_has_its_broker(run: Run) -> None:
    result = run(
        """
        import pytest

        @pytest.mark.parametrize("number", range(6))
        def test_it(odradek_broker, odradek_topic, number):
            assert odradek_broker.topics() == [odradek_topic]
        """,
        "-n2",
    )
    result.assert_outcomes(passed=6)


def test_the_package_is_not_compiled_anew_by_pytest(pytester: pytest.Pytester) -> None:
    """Which would take most of the start of a run that keeps no byte code."""
    pytester.makepyfile(
        """
        import sys

        def test_it(odradek_broker):
            from _pytest.assertion.rewrite import AssertionRewritingHook

            rewritten = [
                name
                for name, module in sys.modules.items()
                if name.partition(".")[0] == "odradek"
                and isinstance(getattr(module, "__loader__", None), AssertionRewritingHook)
            ]
            assert rewritten == []
        """
    )
    result = pytester.runpytest_subprocess("-q", "-W", "ignore")
    result.assert_outcomes(passed=1)


def test_clusters_for_one_test_and_for_all(run: Run) -> None:
    result = run(
        """
        import pytest

        seen = []

        def test_is_fresh(odradek_cluster):
            odradek_cluster.kill(1)
            assert odradek_cluster.settings["min.insync.replicas"] == "2"
            assert odradek_cluster.settings["num.partitions"] == "7"

        @pytest.mark.odradek_cluster(brokers=2, settings={"num.partitions": 3})
        def test_is_marked(odradek_cluster):
            assert odradek_cluster.running == [1, 2]
            assert odradek_cluster.settings["num.partitions"] == "3"

        @pytest.mark.parametrize("time", [1, 2])
        def test_is_shared(odradek_session_cluster, time):
            assert odradek_session_cluster.running == [1, 2, 3]
            odradek_session_cluster.kill(2)
            seen.append(odradek_session_cluster.bootstrap_servers)
            assert len(set(seen)) == 1

        @pytest.mark.odradek_cluster(3)
        def test_is_malformed(odradek_cluster):
            pass

        @pytest.mark.odradek_cluster(brokers=2)
        def test_marks_what_is_shared(odradek_session_cluster):
            pass
        """,
        ini="odradek_settings = num.partitions=7",
    )
    result.assert_outcomes(passed=4, errors=2)
    result.stdout.fnmatch_lines(
        [
            "*the marker odradek_cluster takes brokers=3, log_dirs=1 and settings={...}, by name*",
            "*is marked odradek_cluster, but does not use that fixture*",
        ]
    )
