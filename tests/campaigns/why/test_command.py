"""`./dev why`: what it prints, what it refuses, its exit code; planted wrong answers are reported."""

from collections.abc import Callable

import pytest
from campaigns.why.__main__ import main, state_of
from campaigns.why.scene import Expected, Scene, Stuck
from campaigns.why.states import STATES
from campaigns.why.trial import State, judge, run_trial

from odradek.aio import Consumer, Producer
from odradek.client.core.waiting import Cause, Why

EACH = range(len(STATES))
"""One seed of each kind."""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give either --seed or --seeds"),
        (["--seed", "1", "--seeds", "1-2"], "give either --seed or --seeds"),
        (["--seeds", "few"], "no range of seeds"),
        (["--seeds", "5-4"], "the range has no seed"),
        (["--seed", "1", "--state", "bliss"], "invalid choice: 'bliss'"),
    ],
)
def test_wrong_input_is_refused(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(arguments)
    assert refused.value.code == 2
    assert words in capsys.readouterr().err


def test_states_have_names_of_their_own_and_come_in_turn() -> None:
    assert len({state.name for state in STATES}) == len(STATES) >= 20
    assert [state_of(seed) for seed in EACH] == list(STATES)
    assert state_of(len(STATES)) is STATES[0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", EACH, ids=lambda seed: STATES[seed].name)
def test_the_cause_of_each_state_is_named(seed: int) -> None:
    result = run_trial(seed, state_of(seed))
    assert result.fault == "", [(why.cause, str(why), dict(why.data)) for why in result.said]


@pytest.mark.slow
def test_a_seed_that_is_right_prints_all_that_was_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "3", "--state", "at the end", "--json"]) == 0
    said = capsys.readouterr().out
    assert "seed 3: at the end: right" in said
    assert "at_end - orders-0 is read to its end" in said
    assert "1 of 1 causes named right (100.0%)" in said
    assert '{"seeds": 1, "right": 1, "wrong": []}' in said


# --- planted wrong answers


def _plant(monkeypatch: pytest.MonkeyPatch, client: type, wrong: Callable[[list[Why]], list[Why]]) -> None:
    why = client.why  # type: ignore[attr-defined]
    monkeypatch.setattr(client, "why", lambda self: wrong(why(self)))


def _without_data(causes: list[Why]) -> list[Why]:
    return [Why(one.cause, one.text) for one in causes]


def _longer(causes: list[Why]) -> list[Why]:
    return [Why(one.cause, one.text, {**one.data, "ms": 5_000_000}) for one in causes]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "client", "wrong", "words"),
    [
        ("all partitions paused", Consumer, lambda _: [], "no cause is named"),
        ("at the end", Consumer, lambda _: [Why(Cause.FETCHING, "soon")], "the first cause is fetching"),
        ("rebalance waits for the assignment", Consumer, _without_data, "group is None, not 'billing'"),
        ("poll not called", Consumer, _longer, "the wait has lasted 5000000 ms, in truth"),
        ("producer: leader dead", Producer, lambda causes: causes[1:], "no cause is named"),
    ],
)
def test_a_wrong_answer_is_reported(
    state: str,
    client: type,
    wrong: Callable[[list[Why]], list[Why]],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _plant(monkeypatch, client, wrong)
    assert main(["--seeds", "0-0", "--state", state]) == 1
    said = capsys.readouterr().out
    assert words in said
    assert "0 of 1 causes named right (0.0%)" in said


@pytest.mark.slow
def test_a_cause_that_is_named_only_now_and_then_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    why = Consumer.why

    def flickering(self: Consumer) -> list[Why]:
        nonlocal asked
        asked += 1
        return [Why(Cause.FETCHING, "soon")] if asked == 3 else why(self)

    monkeypatch.setattr(Consumer, "why", flickering)
    (state,) = [one for one in STATES if one.name == "at the end"]
    assert run_trial(0, state).fault == "after 1.7 s: the first cause is fetching, not at_end"


def test_the_true_cause_in_second_place_is_wrong() -> None:
    expected = Expected(Cause.AT_END, {"position": 3})
    at_end, soon = Why(Cause.AT_END, "", {"position": 3}), Why(Cause.FETCHING, "")
    assert judge([at_end, soon], expected, 0) == ""
    assert judge([soon, at_end], expected, 0) != ""
    assert judge([Why(Cause.AT_END, "", {"position": 4})], expected, 0) == "position is 4, not 3"


@pytest.mark.slow
def test_a_state_that_cannot_be_built_does_not_count_as_right() -> None:
    async def never(scene: Scene) -> Stuck:
        await scene.until(lambda: False, "pigs fly")
        raise AssertionError("unreachable")

    result = run_trial(0, State("never", never, {}))
    assert not result.is_right
    assert result.fault == "the state was not reached: pigs fly"
