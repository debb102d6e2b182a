"""docs/simulation.md: its tests pass or fail as it says, and a failure reports what it shows.

In processes of their own, because pytester would drop the modules that a run in this one imports.
"""

import re

import pytest

from tests.docs.blocks import Runner, blocks_of, blocks_run_by

pytest_plugins = ["pytester"]
pytestmark = [pytest.mark.integration, pytest.mark.slow]

BLOCKS = blocks_run_by(Runner.SIMULATION)
FIRST, BROKEN, MENDED = (block.text for block in BLOCKS if block.language == "python")
(TRACED,) = (block.text for block in BLOCKS if block.language == "console")
(REPORT,) = (block.text for block in blocks_of("docs/simulation.md") if block.language == "text")


def run(pytester: pytest.Pytester, tests: str) -> pytest.RunResult:
    pytester.makepyfile(test_billing=tests)
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    return pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")


def without_numbers(line: str) -> str:
    """Which broker, offset and time it is depends on every step that brokers take."""
    return (
        re.sub(r"\d+(\.\d+)?", "N", line).replace("PYTHONHASHSEED=N ", "").strip().removeprefix("E").strip()
    )


def test_the_first_test_passes(pytester: pytest.Pytester) -> None:
    run(pytester, FIRST).assert_outcomes(passed=1)


def test_the_seed_on_the_page_finds_the_bug(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    (seed,) = set(re.findall(r"ODRADEK_SEED=(\d+)", REPORT + TRACED))
    assert f"seed {seed} failed" in REPORT
    prompt, *variables, pytest_, test = TRACED.split()
    assert (prompt, pytest_, test) == ("$", "pytest", "test_billing.py::test_every_order_is_billed")
    for name, _, value in (variable.partition("=") for variable in variables):
        monkeypatch.setenv(name, value)
    result = run(pytester, BROKEN)
    result.assert_outcomes(failed=1)
    assert "orders-0" in (pytester.path / "history.html").read_text()
    printed = [without_numbers(line) for line in result.stdout.lines]
    assert set(map(without_numbers, REPORT.splitlines())) <= set(printed)


def test_no_seed_fails_when_the_application_is_mended(pytester: pytest.Pytester) -> None:
    head, _, rest = BROKEN.partition("async def bill_orders")
    _, _, tail = rest.partition("async def place_orders")
    run(pytester, f"{head}{MENDED}\n\nasync def place_orders{tail}").assert_outcomes(passed=1)
