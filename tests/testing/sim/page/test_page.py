"""The page of a history: one safe document, the same bytes in every process, scripts that hang together."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import pytest

from odradek.testing.sim import World
from odradek.testing.sim.history.recorder import Recorder
from odradek.testing.sim.page import render_page, write_page
from odradek.testing.sim.page.page import SCRIPTS
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tools import replication_history

PARTS = files("odradek.testing.sim.page")
VOID: Final = {"meta", "input"}
PAIRS: Final = {")": "(", "]": "[", "}": "{"}


class Reader(HTMLParser):
    """Checks that elements nest; collects ids, what is loaded, and the history."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.loaded: list[str] = []
        self.texts: dict[str, str] = {}
        self._open: list[tuple[str, str]] = []
        self.feed(page)
        assert not self._open, f"not closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids.add(given.get("id") or "")
        self.loaded.extend(value or "" for name, value in attrs if name in ("src", "href", "action"))
        if tag not in VOID:
            self._open.append((tag, given.get("id") or ""))

    def handle_endtag(self, tag: str) -> None:
        opened, _ = self._open.pop()
        assert opened == tag, f"{opened} ends as {tag}"

    def handle_data(self, data: str) -> None:
        if self._open:
            tag, name = self._open[-1]
            self.texts[name or tag] = self.texts.get(name or tag, "") + data


@pytest.fixture(scope="module")
def recorder() -> Recorder:
    return replication_history.run()


@pytest.fixture(scope="module")
def page(recorder: Recorder) -> str:
    return render_page(recorder, title="seed 17", outcome="no record is lost")


def history_in(page: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Reader(page).texts["history"])
    return found


# --- the document


@pytest.mark.slow  # it runs the history
def test_the_page_is_one_document_that_loads_nothing(page: str) -> None:
    read = Reader(page)
    assert page.startswith("<!DOCTYPE html>")
    assert read.texts["title"] == "seed 17"
    assert not read.loaded
    assert "default-src 'none'" in page
    assert not re.search(
        r"\b(fetch|XMLHttpRequest|import)\s*\(|@import|url\(|https?://(?!www\.w3\.org/2000/svg)", page
    )


@pytest.mark.slow
def test_the_changes_lead_from_the_base_to_the_present(recorder: Recorder, page: str) -> None:
    history = history_in(page)
    state: dict[str, Any] = dict(history["base"])
    for event in history["events"]:
        for key, value in event.get("x", {}).items():
            if value is None:
                state.pop(key)
            else:
                state[key] = value
    assert len(history["events"]) == len(recorder.history.events)
    assert history["partitions"] == ["orders-0"]
    assert {key: state[f"replica/{key}/0"]["role"] for key in (1, 2, 3)} == {
        1: "follower",
        2: "leader",
        3: "follower",
    }
    assert state["replica/2/0"]["LEO"] == state["replica/1/0"]["LEO"] == 2
    assert state["stored/0"] == {"leader": 2, "epoch": 1, "ISR": [2, 3, 1]}
    assert state["network"]["cuts"] == []


@pytest.mark.slow
def test_a_truncation_leads_to_the_answer_before_it(page: str) -> None:
    history = history_in(page)
    (cut,) = [event for event in history["events"] if event.get("cut")]
    ((_, number),) = cut["links"]
    told = history["events"][number]
    assert (told["a"], told["b"], told["answer"]) == (2, 1, 1)
    assert "epoch 0 ends at 1" in told["words"]
    ((_, asked),) = told["links"]
    assert history["events"][asked]["words"] == "OffsetForLeaderEpoch: orders-0: where does epoch 0 end?"


def test_forgotten_events_are_counted_and_nothing_leads_to_them() -> None:
    world = World(1)
    recorder = Recorder(world, events_max=20)
    for broker_id in (1, 2):
        world.node(broker_id)
    world.nodes[1].ask(CreateTopicsRequest([CreatableTopic("orders", 1, 2)], timeout_ms=5_000))
    world.advance(2_000)
    history = history_in(render_page(recorder, title="t"))
    assert history["forgotten"] == recorder.history.forgotten > 0
    assert history["base"]["broker/1"] == {"phase": "serving", "controller": True}
    for number, event in enumerate(history["events"]):
        assert all(0 <= other < number for _, other in event.get("links", []))


def test_what_clients_send_stays_data(tmp_path: Path) -> None:
    world = World(1, brokers=1)
    recorder = Recorder(world)
    evil = "</script><script>alert(1)</script>"
    world.nodes[1].send(CreateTopicsRequest([CreatableTopic(evil)], timeout_ms=5_000), client_id=evil)
    world.settle()
    path = tmp_path / "page.html"
    write_page(recorder, path, title=evil, outcome=evil)
    text = path.read_text("utf-8")
    assert "<script>alert" not in text
    history = history_in(text)
    assert (history["title"], history["outcome"]) == (evil, evil)
    assert any(evil in event["words"] for event in history["events"])


def test_an_empty_history_is_a_page() -> None:
    assert history_in(render_page(Recorder(World()), title="nothing"))["events"] == []


def digest() -> str:
    page = render_page(replication_history.run(), title="seed 1")
    return hashlib.sha256(page.encode()).hexdigest()


@pytest.mark.slow
def test_a_history_gives_the_same_bytes_in_every_process_under_every_hash_seed() -> None:
    root = Path(__file__).parents[4]
    found = {digest()}
    for seed in ("0", "12345"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)}
        run = subprocess.run(
            [sys.executable, __file__], env=environment, capture_output=True, text=True, check=True
        )
        found.add(run.stdout.strip())
    assert len(found) == 1


# --- the scripts


def code_of(script: str) -> Iterator[tuple[int, str]]:
    """The characters of a script with their lines, without strings, comments and regular expressions.

    What stands inside `${}` of a template is code. Raises AssertionError where one of these does not end.
    """
    position, line = 0, 1
    # The brackets that are open within each `${`, innermost last.
    templates: list[int] = []
    before = ""
    while position < len(script):
        character = script[position]
        if script.startswith("//", position):
            position = script.find("\n", position)
            assert position >= 0, "a comment ends with its line"
            continue
        is_expression = character == "/" and before in "(,=:[!&|?{};"
        if character in "\"'" or is_expression:
            end = _end_of(script, position, character)
            position, before = end, '"'
            continue
        if character == "`" or (character == "}" and templates and templates[-1] == 0):
            if character == "}":
                templates.pop()
                yield line, "}"
            text = re.compile(r"(?:\\.|(?!\$\{)[^`\\])*").match(script, position + 1)
            assert text is not None
            line += script.count("\n", position, text.end())
            position, before = text.end() + 1, '"'
            assert position <= len(script), f"line {line}: a template does not end"
            if script[text.end()] == "$":
                templates.append(0)
                yield line, "{"
                position, before = position + 1, "{"
            continue
        if templates and character in "{}":
            templates[-1] += 1 if character == "{" else -1
        line += character == "\n"
        if not character.isspace():
            before = character
        yield line, character
        position += 1
    assert not templates


def _end_of(script: str, position: int, quote: str) -> int:
    """Where the string or regular expression that begins at `position` is over."""
    inside = r"(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\[\\\n])*" if quote == "/" else rf"(?:\\.|[^{quote}\\\n])*"
    found = re.compile(quote + inside + quote).match(script, position)
    assert found is not None, f"{quote} does not end: {script[position : position + 40]!r}"
    return found.end()


def check_brackets(script: str) -> None:
    opened: list[tuple[int, str]] = []
    for line, character in code_of(script):
        if character in PAIRS.values():
            opened.append((line, character))
        elif character in PAIRS:
            assert opened, f"line {line}: {character} closes nothing"
            begun, bracket = opened.pop()
            assert bracket == PAIRS[character], f"line {line}: {character} closes {bracket} of line {begun}"
    assert not opened, f"not closed: {opened}"


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_brackets_of_a_script_are_balanced(name: str) -> None:
    check_brackets(PARTS.joinpath(name).read_text("utf-8"))


@pytest.mark.parametrize(
    "broken", ["f(1;", "x = {a: [1}", "y = `${f(`", "z = 'open", "}", "const r = /[(/;", "w = `${a}}`}"]
)
def test_a_broken_script_is_found(broken: str) -> None:
    with pytest.raises(AssertionError):
        check_brackets(broken + "\n")


def test_brackets_in_text_and_expressions_do_not_count() -> None:
    check_brackets("a = '({'; b = /[/(]\\/\\[/; c = `${d['}']}) ${`${e}`}`; // )\n")


@pytest.mark.skipif(shutil.which("node") is None, reason="a second check; that of brackets is always made")
def test_node_parses_the_scripts(tmp_path: Path) -> None:
    script = tmp_path / "page.js"
    script.write_text("\n".join(PARTS.joinpath(name).read_text("utf-8") for name in SCRIPTS), "utf-8")
    subprocess.run(["node", "--check", str(script)], check=True, capture_output=True, timeout=60)


def test_the_scripts_use_only_elements_that_the_page_has() -> None:
    scripts = "".join(PARTS.joinpath(name).read_text("utf-8") for name in SCRIPTS)
    used = set(re.findall(r'(?:byId|getElementById)\("([\w-]+)"\)', scripts))
    ids = Reader(PARTS.joinpath("body.html").read_text("utf-8")).ids | {"history"}
    assert len(used) > 15
    assert used <= ids


def test_functions_are_defined_once_and_used() -> None:
    scripts = "".join(PARTS.joinpath(name).read_text("utf-8") for name in SCRIPTS)
    names = re.findall(r"^(?:\(?function|const|let) (\w+)", scripts, re.MULTILINE)
    assert len(names) == len(set(names))
    for name in names:
        is_called_at_once = f"(function {name}(" in scripts
        assert is_called_at_once or len(re.findall(rf"\b{name}\b", scripts)) > 1, f"{name} is not used"


if __name__ == "__main__":
    sys.stdout.write(digest())
