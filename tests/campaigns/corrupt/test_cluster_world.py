"""Damages of the metadata store's files: a few seeds, and that the checks can fail."""

import pytest
from campaigns.corrupt.__main__ import run_seed, run_store
from campaigns.corrupt.cluster_world import FILE_KINDS

from odradek.metadata import embedded
from odradek.metadata.embedded import EmbeddedEngine, SqliteTable


@pytest.mark.parametrize("kind", FILE_KINDS)
@pytest.mark.parametrize("seed", [*range(6), 31, 37, 43, 83, 95])
def test_one_damage_of_the_store_is_never_a_wrong_or_silent_start(seed: int, kind: str) -> None:
    """The later seeds are those that found something once."""
    damage, _, findings = run_store(seed, kind)
    assert damage.kind == kind
    assert findings.wrong == []


def test_a_loss_without_a_word_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqliteTable, "_pass_lost_transactions", lambda self: 0)
    _, _, findings = run_store(45, FILE_KINDS[1])
    assert any("without a word" in wrong for wrong in findings.wrong)


def test_a_producer_id_that_is_given_out_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EmbeddedEngine, "_pass_lost_producer_ids", lambda self: None)
    _, _, findings = run_store(31, FILE_KINDS[1])
    assert findings.wrong == ["producer id 0 was given out again"]


def test_a_start_on_a_damaged_file_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_check", lambda database, file: None)
    assert run_store(11, FILE_KINDS[0])[2].wrong != []


def test_some_seeds_damage_the_store() -> None:
    assert {run_seed(seed)[0].kind for seed in (5, 10, 15, 17, 21)} == set(FILE_KINDS)
