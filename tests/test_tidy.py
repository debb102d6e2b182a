"""Holds the tree to the budgets and naming rules of docs/architecture.md."""

import ast
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "odradek"

FUNCTION_LINES_MAX = 70
CLASS_LINES_MAX = 500
FILE_LINES_MAX = 700

# Names that say nothing of what a file is for, and what to name it after instead.
BANNED_NAMES = {
    "utils": "the thing that it works on",
    "util": "the thing that it works on",
    "common": "what is shared",
    "helpers": "what it helps with",
    "misc": "its one job",
    "manager_impl": "its one job",
    "stuff": "its one job",
}

# Registries whose addresses would tie the tree to one network; split, so that this file holds none.
REGISTRIES = re.compile(
    "|".join(("py" + "pi.org", "python" + "hosted", "repo1?." + "maven", "registry.npm" + "js"))
)
MACHINE_PATH = re.compile(r"(^|[^\w/.$}])/(root|" + "work" + r"|home/\w+)/")


class Definition(NamedTuple):
    name: str
    lines: int
    is_class: bool


def is_generated(path: Path) -> bool:
    return "messages" in path.parts


SOURCES = sorted(path for path in SOURCE.rglob("*.py"))
WRITTEN = [path for path in SOURCES if not is_generated(path)]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def lines_of(node: ast.AST) -> int:
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    return (node.end_lineno or node.lineno) - node.lineno + 1


@cache
def looked_through() -> dict[Path, tuple[bool, list[Definition]]]:
    """Of each source whether it has a docstring, and what it defines; the trees would fill the memory."""
    found = {}
    for path in SOURCES:
        tree = ast.parse(path.read_text())
        nodes = [] if is_generated(path) else ast.walk(tree)
        defined = [
            Definition(node.name, lines_of(node), isinstance(node, ast.ClassDef))
            for node in nodes
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        ]
        found[path] = (bool(ast.get_docstring(tree)), defined)
    return found


# One test looks at all files: a thousand tests for each of these take longer than what they do.


def test_files_classes_and_functions_stay_within_their_budgets() -> None:
    over = []
    for path in WRITTEN:
        length = len(path.read_text().splitlines())
        if length > FILE_LINES_MAX:
            over.append(
                f"{name_of(path)} has {length} lines (at most {FILE_LINES_MAX}):"
                " what is the second thing it does?"
            )
        _, defined = looked_through()[path]
        for one in defined:
            most = CLASS_LINES_MAX if one.is_class else FUNCTION_LINES_MAX
            if one.lines > most:
                over.append(f"{name_of(path)}: {one.name} has {one.lines} lines (at most {most})")
    assert WRITTEN
    assert not over, "\n".join(over)


def test_names_say_what_a_file_is_for() -> None:
    found = [
        f"{name_of(path)}: name it after {BANNED_NAMES[part]}"
        for path in SOURCES
        for part in (*path.relative_to(SOURCE).parts[:-1], path.stem)
        if part in BANNED_NAMES
    ]
    assert not found, "\n".join(found)


def test_every_file_opens_with_what_it_is_for() -> None:
    without = [name_of(path) for path, (is_told, _) in looked_through().items() if not is_told]
    assert not without, "no docstring: " + "\n".join(without)


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


def test_nothing_tracked_names_a_registry_or_a_path_of_one_machine() -> None:
    found = []
    for path in tracked_files():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if REGISTRIES.search(line) or MACHINE_PATH.search(line):
                found.append(f"{name_of(path)}:{number}: {line.strip()[:80]}")
    assert not found, "\n".join(found)


def test_tests_mirror_the_sources() -> None:
    """A test file stands where its source stands, so that either is found from the other."""
    strays = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        inside = path.relative_to(ROOT / "tests")
        if inside.parts[0] in ("integration", "test_rules.py", "test_tidy.py"):
            continue
        if not (SOURCE / inside.parent).is_dir() and not (ROOT / inside.parent).is_dir():
            strays.append(f"{name_of(path)} has no folder {inside.parent}, in src/odradek or beside it")
    assert not strays, "\n".join(strays)
