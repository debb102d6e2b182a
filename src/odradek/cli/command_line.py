"""Command lines as tables: the parser, the help and the completion of a command all come from one table.

    Command("create", "Create a topic.", create, (TOPIC, option("--partitions", "how many", kind=number)))

An invalid command line raises UsageError: one sentence and exit code 2.
"""

import os
import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, TypeAlias

from odradek.base.errors import SettingError
from odradek.base.values import value

HELP_WIDTH_MAX = 100
_HELP_COLUMN = 30


class UsageError(SettingError):
    """A command line that cannot be understood; the message names the argument."""


class HelpWanted(Exception):
    """-h or --help was given."""


@value
class Argument:
    """One positional argument or one option of a command."""

    names: tuple[str, ...]
    """`("--bootstrap-server", "-b")`, or the one name of a positional argument."""
    help: str
    metavar: str = ""
    """The placeholder for the value in the help; empty for a flag."""
    kind: Callable[[str], Any] = str
    """Converts the text to the value; raises ValueError with the words that follow "is"."""
    default: Any = None
    shown_default: str = ""
    choices: tuple[str, ...] = ()
    many: bool = False
    """A repeatable option, or a last positional argument that takes all further words: a list."""
    required: bool = False
    variable: str = ""
    """The environment variable that gives the default."""
    completes: str = ""
    """What the shell completes: "file", "topic", "group"; "named": the word before names one of these;
    "setting", or "setting=" with a value: of what the first word names, or "setting of topic"."""
    implied: str = ""
    """The text of the value where the option is given without one; empty if it needs one.

    The next word is the value unless it is an option, so this is for commands without positional arguments.
    """

    @property
    def is_option(self) -> bool:
        """Whether this is an option, not a positional argument."""
        return self.names[0].startswith("-")

    @property
    def attribute(self) -> str:
        """The attribute of `Options` that holds its value."""
        return self.names[0].lstrip("-").replace("-", "_")

    @property
    def label(self) -> str:
        """Its name in the help and in error messages."""
        return self.names[0] if self.is_option else self.metavar


Options: TypeAlias = SimpleNamespace
Run: TypeAlias = Callable[[Options], int | None]


@value
class Command:
    """One command: what it takes, and what runs it."""

    name: str
    summary: str
    run: Run
    arguments: tuple[Argument, ...] = ()
    details: str = ""
    """Paragraphs of the help, below the summary."""
    examples: tuple[str, ...] = ()


@value
class Group:
    """Commands about one thing."""

    name: str
    summary: str
    commands: tuple[Command, ...] = ()

    def command(self, name: str) -> Command | None:
        """The command of that name."""
        return next((one for one in self.commands if one.name == name), None)


HELP = Argument(("--help", "-h"), "show this help and exit")


# --- declaring arguments


def positional(name: str, text: str, **more: Any) -> Argument:  # noqa: ANN401 - fields of Argument
    """A required positional argument, unless `required=False`."""
    return Argument((name,), text, **{"metavar": name.upper(), "required": True, **more})


def option(*names: str, help: str, **more: Any) -> Argument:  # noqa: A002, ANN401
    """An option with a value."""
    return Argument(names, help, **{"metavar": "TEXT", **more})


def flag(*names: str, help: str) -> Argument:  # noqa: A002
    """An option without a value; False unless it is given."""
    return Argument(names, help, default=False)


JSON = flag("--json", help="print JSON, for scripts")


def number(lowest: int = 0, highest: int = (1 << 63) - 1) -> Callable[[str], int]:
    """Reads whole numbers from `lowest` to `highest`, also with separators: 498,000."""

    def read(text: str) -> int:
        plain = re.sub(r"(?<=\d)[,_](?=\d{3}\b)", "", text)
        if not re.fullmatch(r"-?[0-9]{1,19}", plain) or not lowest <= int(plain) <= highest:
            limits = f"of at least {lowest:,}" if highest >= 1 << 31 else f"from {lowest:,} to {highest:,}"
            raise ValueError(f"a whole number {limits}")
        return int(plain)

    return read


def seconds(text: str) -> float:
    """Reads a positive number of seconds."""
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]+)?", text) or float(text) <= 0:
        raise ValueError("a number of seconds above 0")
    return float(text)


# --- parsing


def parse(path: str, command: Command, arguments: Sequence[str]) -> Options:
    """Parse the arguments of a command; `path` are the words before them. Raises UsageError, HelpWanted."""
    texts, words = _split(path, command, arguments)
    for one in command.arguments:
        if not one.is_option and words:
            texts[one.attribute] = list(words) if one.many else words[:1]
            words = [] if one.many else words[1:]
    if words:
        raise UsageError(f"{path} takes no '{words[0]}'; see {path} --help")
    return Options(**{one.attribute: _value_of(path, one, texts) for one in command.arguments})


def _split(path: str, command: Command, arguments: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Returns the texts of each option, and the other words in order."""
    known = {name: one for one in (*command.arguments, HELP) if one.is_option for name in one.names}
    texts: dict[str, list[str]] = {}
    words: list[str] = []
    left = list(arguments)
    while left:
        given = left.pop(0)
        if given == "--":
            return texts, words + left
        if _NO_OPTION.match(given):
            words.append(given)
            continue
        name, equals, value = given.partition("=") if given.startswith("--") else (given[:2], "", given[2:])
        one = known.get(name)
        if one is None:
            raise UsageError(f"{path} has no option {name}{meant(name, list(known))}; see {path} --help")
        if one is HELP:
            raise HelpWanted
        if not one.metavar:
            if equals:
                raise UsageError(f"{name} takes no value")
            if value:
                left.insert(0, f"-{value}")  # -xy is -x -y.
            value = "yes"
        elif not equals and not value:
            is_last = not left or not _NO_OPTION.match(left[0])
            if one.implied and is_last:
                texts.setdefault(one.attribute, []).append(one.implied)
                continue
            if not left or left[0].startswith("--"):
                raise UsageError(f"{name} has no value: it takes {one.metavar}, {one.help}")
            value = left.pop(0)
        texts.setdefault(one.attribute, []).append(value)
    return texts, words


# A word, a negative number, or the dash for standard input.
_NO_OPTION = re.compile(r"[^-]|-[0-9]|-?$")


def _value_of(path: str, one: Argument, given: dict[str, list[str]]) -> Any:  # noqa: ANN401 - made by `kind`
    """The value on the command line, else from the environment, else the default."""
    texts = given.get(one.attribute, [])
    if not texts and one.variable and os.environ.get(one.variable):
        texts = [os.environ[one.variable]]
    if not texts:
        if one.required:
            needed = f"{one.label} {one.metavar}" if one.is_option else one.label
            raise UsageError(f"{path} needs {needed}, {one.help}; see {path} --help")
        return [] if one.many else one.default
    if one.is_option and not one.metavar:
        return True
    values = [_value(one, text) for text in texts]
    return values if one.many else values[-1]


def _value(one: Argument, text: str) -> Any:  # noqa: ANN401 - whatever `kind` makes
    if one.choices and text not in one.choices:
        raise UsageError(f"{one.label} is one of {', '.join(one.choices)}, not '{text}'")
    try:
        return one.kind(text)
    except ValueError as error:
        raise UsageError(f"{one.label} is {error}, not '{text}'") from None


def meant(word: str, known: Sequence[str]) -> str:
    """Returns ` (did you mean --partitions?)`, or an empty text if no known word is similar."""
    from difflib import get_close_matches

    close = get_close_matches(word, known, 1)
    return f" (did you mean {close[0]}?)" if close else ""


# --- help


def command_help(path: str, command: Command) -> str:
    """The help of one command."""
    positionals = [one for one in command.arguments if not one.is_option]
    options = [one for one in command.arguments if one.is_option]
    words = [_in_usage(one) for one in positionals]
    needed = [f"{one.label} {one.metavar}" for one in options if one.required]
    lines = [f"Usage: {' '.join([path, *words, *needed, '[OPTIONS]'])}", "", *_paragraphs(command.summary)]
    if command.details:
        lines += ["", *_paragraphs(command.details)]
    if positionals:
        lines += ["", "Arguments:", *_rows([(one.metavar, _described(one)) for one in positionals])]
    lines += ["", "Options:", *_rows([(_named(one), _described(one)) for one in (*options, HELP)])]
    if command.examples:
        lines += ["", "Examples:", *(f"  {example}" for example in command.examples)]
    return "\n".join(lines)


def group_help(path: str, summary: str, commands: Sequence[tuple[str, str]], after: str = "") -> str:
    """The help of a group of commands, each with its summary."""
    lines = [f"Usage: {path} COMMAND [OPTIONS]", "", *_paragraphs(summary), "", "Commands:"]
    lines += _rows(list(commands), column=max(len(name) for name, _ in commands) + 4)
    lines += ["", after or f"See {path} COMMAND --help for each."]
    return "\n".join(lines)


def _in_usage(one: Argument) -> str:
    word = f"{one.metavar}..." if one.many else one.metavar
    return word if one.required else f"[{word}]"


def _named(one: Argument) -> str:
    short = [name for name in one.names if not name.startswith("--")]
    long = [name for name in one.names if name.startswith("--")]
    return " ".join([", ".join([*short, *long]), *([one.metavar] if one.metavar else [])])


def _described(one: Argument) -> str:
    notes = []
    if one.choices:
        notes.append(f"one of {', '.join(one.choices)}")
    if one.many and one.is_option:
        notes.append("may be repeated")
    if one.variable:
        notes.append(f"else ${one.variable}")
    if one.shown_default:
        notes.append(f"default: {one.shown_default}")
    return one.help + (f" ({'; '.join(notes)})" if notes else "")


def _width() -> int:
    import shutil

    return max(60, min(HELP_WIDTH_MAX, shutil.get_terminal_size((HELP_WIDTH_MAX, 24)).columns))


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """The lines of a text; an option's name is never cut."""
    import textwrap

    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _paragraphs(text: str) -> list[str]:
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        lines += ["", *_wrapped(paragraph, _width() - 2, "  ")]
    return lines[1:]


def _rows(rows: Sequence[tuple[str, str]], column: int = _HELP_COLUMN) -> list[str]:
    lines: list[str] = []
    for name, text in rows:
        wrapped = _wrapped(text, _width() - column - 2)
        if len(name) + 4 > column:
            lines.append(f"  {name}")
        else:
            lines.append(f"  {name:<{column - 2}}{wrapped.pop(0) if wrapped else ''}")
        lines += [f"{'':<{column}}{line}" for line in wrapped]
    return lines
