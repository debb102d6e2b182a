"""How command lines are read, refused and explained."""

import pytest

from odradek.cli.command_line import (
    Command,
    HelpWanted,
    Options,
    UsageError,
    command_help,
    flag,
    number,
    option,
    parse,
    positional,
    seconds,
)


def nothing(options: Options) -> None:
    """Not run here."""


COMMAND = Command(
    "make",
    "Make a thing.",
    nothing,
    (
        positional("thing", "what to make"),
        option("--count", "-c", help="how many", metavar="N", kind=number(1, 9), default=1),
        option("--tag", help="a tag", metavar="TAG", many=True),
        option(
            "--colour", help="its colour", metavar="COLOUR", choices=("red", "blue"), variable="THING_COLOUR"
        ),
        flag("--fast", "-f", help="make it fast"),
        flag("--quiet", "-q", help="say nothing"),
    ),
)


def parsed(*arguments: str) -> Options:
    return parse("odradek make", COMMAND, arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--count", "3", "x", "--fast"),
        ("x", "--count=3", "--fast"),
        ("-c3", "-f", "x"),
        ("-fc", "3", "x"),
        ("-c", "3", "-f", "--", "x"),
    ],
)
def test_options_stand_in_any_place_and_form(arguments: tuple[str, ...]) -> None:
    found = parsed(*arguments)
    assert (found.thing, found.count, found.fast, found.quiet, found.tag) == ("x", 3, True, False, [])


def test_an_option_may_be_given_again() -> None:
    assert parsed("x", "--tag", "a", "--tag", "b").tag == ["a", "b"]


def test_the_environment_gives_what_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THING_COLOUR", "blue")
    assert parsed("x").colour == "blue"
    assert parsed("x", "--colour", "red").colour == "red"


def test_large_numbers_may_be_written_as_they_are_shown() -> None:
    assert number()("498,000") == number()("498_000") == 498_000
    for text in ("4,98", "1,2,3", "", "1.5", "９"):
        with pytest.raises(ValueError, match="a whole number"):
            number()(text)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "odradek make needs THING, what to make; see odradek make --help"),
        (("x", "y"), "odradek make takes no 'y'; see odradek make --help"),
        (("x", "--cuont", "1"), r"odradek make has no option --cuont \(did you mean --count\?\)"),
        (("x", "--count"), "--count has no value: it takes N, how many"),
        (("x", "--count", "--fast"), "--count has no value"),
        (("x", "--count", "ten"), "--count is a whole number from 1 to 9, not 'ten'"),
        (("x", "--count", "10"), "--count is a whole number from 1 to 9, not '10'"),
        (("x", "--colour", "green"), "--colour is one of red, blue, not 'green'"),
        (("x", "--fast=yes"), "--fast takes no value"),
        (("x", "-z"), "odradek make has no option -z"),
    ],
)
def test_what_is_wrong_is_named_in_a_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        parsed(*arguments)


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ((), (None, False)),
        (("--wait",), (60.0, False)),
        (("--wait", "5"), (5.0, False)),
        (("--wait=5",), (5.0, False)),
        (("--wait", "-q"), (60.0, True)),
        (("-q", "--wait"), (60.0, True)),
    ],
)
def test_a_value_may_be_implied(arguments: tuple[str, ...], found: tuple[float | None, bool]) -> None:
    waiting = option("--wait", help="wait", metavar="[SECONDS]", kind=seconds, implied="60")
    command = Command("show", "Show.", nothing, (waiting, flag("--quiet", "-q", help="say nothing")))
    options = parse("odradek show", command, arguments)
    assert (options.wait, options.quiet) == found


def test_an_option_that_is_needed_is_named_with_its_value() -> None:
    place = option("--to", help="the place", metavar="PLACE", required=True)
    needed = Command("move", "Move.", nothing, (place,))
    with pytest.raises(UsageError, match="odradek move needs --to PLACE, the place; see odradek move --help"):
        parse("odradek move", needed, ())


def test_help_is_wanted_wherever_it_is_asked_for_as_an_option() -> None:
    for arguments in (("-h",), ("x", "--help"), ("--count", "3", "-h")):
        with pytest.raises(HelpWanted):
            parsed(*arguments)
    assert parsed("--", "--help").thing == "--help"


def test_the_help_shows_every_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = command_help("odradek make", COMMAND)
    assert shown.splitlines()[0] == "Usage: odradek make THING [OPTIONS]"
    for one in (
        "-c, --count N",
        "--tag TAG",
        "one of red, blue; else $THING_COLOUR",
        "-f, --fast",
        "-h, --help",
    ):
        assert one in " ".join(shown.split()), one
    assert max(map(len, shown.splitlines())) <= 80
