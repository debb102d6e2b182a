"""What docs/rules.md says of each rule is so: what is built is cited in `src` and proven by tests."""

from pathlib import Path

import pytest
from tools.rules_index import citations, faults_of, names_by_test, rules

_HIGHEST = {"T": 6, "D": 9, "P": 4, "F": 10, "R": 19, "L": 7, "X": 6, "G": 4, "C": 7}


def test_every_rule_is_on_the_page() -> None:
    """So that none is lost when the page is edited; twice the same name is refused by `parse`."""
    expected = {f"{letter}{number}" for letter, last in _HIGHEST.items() for number in range(1, last + 1)}
    expected |= {"S0", "S1", "S2", "S3", "R5a", "R5b", "R5c", "R5d", "R15e"}
    assert set(rules()) == expected - {"R5"}  # which is its four parts


@pytest.mark.parametrize("name", list(rules()))
def test_the_state_of_a_rule_is_borne_out(name: str) -> None:
    assert list(faults_of(rules()[name], citations()[name])) == []


def test_tests_name_no_rule_that_is_not_on_the_page() -> None:
    """Or else a slip of the pen would leave a rule without its proof, and nobody would see why."""
    unknown = {
        f"{path.name}::{function}": names - rules().keys()
        for path in Path(__file__).parent.rglob("test_*.py")
        for function, names in names_by_test(path)
        if names - rules().keys()
    }
    assert unknown == {}
