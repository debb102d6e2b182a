"""Every rule of the internals that is built has a test that carries its name in a docstring."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

BUILT = (
    [f"T{number}" for number in range(1, 7)]
    + [f"D{number}" for number in range(1, 10)]
    + [f"P{number}" for number in range(1, 5)]
    + [f"F{number}" for number in range(1, 11)]
    + [f"S{number}" for number in range(4)]
    + [
        "R1",
        "R2",
        "R3",
        "R4",
        "R5a",
        "R5b",
        "R5c",
        "R5d",
        "R6",
        "R7",
        "R8",
        "R9",
        "R10",
        "R11",
        "R12",
        "R14",
        "R15",
    ]
    + ["L1", "L2", "L3", "L4", "L5", "L6", "L7"]
    + ["G3"]
)


@cache
def names_in_docstrings() -> frozenset[str]:
    found: set[str] = set()
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
                found.update(re.findall(r"\b[A-Z]\d+[a-d]?\b", ast.get_docstring(node) or ""))
    return frozenset(found)


@pytest.mark.parametrize("rule", BUILT)
def test_a_test_carries_the_rule_s_name(rule: str) -> None:
    assert rule in names_in_docstrings(), f"no test's docstring names {rule}"
