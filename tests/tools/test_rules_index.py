"""Names of rules are whole words; the page is read strictly; a state that is not so is found."""

from pathlib import Path

import pytest
from tools.rules_index import (
    NAME,
    Citations,
    Rule,
    State,
    faults_of,
    names_by_test,
    names_in_source,
    parse,
)


def test_names_are_whole_words() -> None:
    assert NAME.findall("R15e, then R15 (R5a-R5d); not KR5, R15f, R5_a, r5 or UTF8") == [
        "R15e",
        "R15",
        "R5a",
        "R5d",
    ]


def test_rules_are_read_with_their_states() -> None:
    read = parse(
        "- **T1** A tick\n  ticks.\n  *Built.*\n- **R15e** B.\n  *Partly built: the ELR; it comes.*\n"
    )
    assert read == {
        "T1": Rule("T1", "A tick ticks.", State.BUILT, ""),
        "R15e": Rule("R15e", "B.", State.PARTLY_BUILT, "the ELR; it comes"),
    }


@pytest.mark.parametrize(
    "text",
    [
        "- **T1** No state.\n",
        "- **T1** What is missing is not said.\n  *Partly built.*\n",
        "- **Z1** No such letter.\n  *Built.*\n",
        "- **T1** Once.\n  *Built.*\n- **T1** Twice.\n  *Built.*\n",
    ],
)
def test_a_page_in_disorder_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="want a name of its own"):
        parse(text)


def test_only_docstrings_and_comments_cite(tmp_path: Path) -> None:
    source = tmp_path / "source.py"
    source.write_text(
        '"""Does R1."""\nR2 = "R3"  # by R4\n\n'
        'def f() -> None:\n    """By R5a."""\n    R2 = 1\n    """R6."""\n'
    )
    assert names_in_source(source) == {"R1", "R4", "R5a", "R6"}


def test_only_test_functions_prove(tmp_path: Path) -> None:
    source = tmp_path / "test_source.py"
    source.write_text(
        '"""R1."""\nclass TestX:\n    """R2."""\n    def test_a(self):\n        """R3 R4."""\n'
        'def helper():\n    """R5a."""\nasync def test_b():\n    """R6."""\n'
    )
    assert sorted(names_by_test(source)) == [("test_a", {"R3", "R4"}), ("test_b", {"R6"})]


def test_a_state_that_is_not_so_is_found() -> None:
    nobody, both = Citations((), {}), Citations(("log.py",), {"test_log.py": ("test_a",)})

    def found(state: State, cited: Citations) -> int:
        return len(list(faults_of(Rule("L1", "A log.", state, ""), cited)))

    assert [found(state, nobody) for state in State] == [2, 2, 0]
    assert [found(state, both) for state in State] == [0, 0, 1]
