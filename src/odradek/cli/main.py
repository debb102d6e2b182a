"""The command `odradek`: finds the command, runs it, and turns every error into one sentence and a code.

Only the module of the command that runs is imported. `serve` imports nothing that only other commands need.
"""

import gc
import sys
from collections.abc import Sequence
from importlib import import_module

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, DataDirectoryError, OdradekError, SettingError
from odradek.cli.command_line import (
    HELP,
    Command,
    Group,
    HelpWanted,
    UsageError,
    command_help,
    group_help,
    meant,
    parse,
)

EXIT_FAILED = 1
EXIT_WRONG_USE = 2
EXIT_INTERRUPTED = 130

# Each command or group of commands: its module in this package, and its one-line help.
MODULES = {
    "serve": ("serve", "Run a broker until SIGTERM or Ctrl-C."),
    "topics": ("topics", "List, create, describe, alter and delete topics."),
    "produce": ("produce", "Send lines of the standard input, or of files, as records."),
    "consume": ("consume", "Print the records of a topic."),
    "groups": ("groups", "Show, move and delete consumer groups."),
    "configs": ("configs", "Show and change the settings of topics, brokers and groups."),
    "transactions": ("transactions", "Show transactions, find those that hang, and end them."),
    "cluster": ("cluster", "Show what is wrong with a cluster, elect leaders, and move replicas."),
    "pipeline": ("pipeline", "Keep tables up to date with topics, every record exactly once, by Spark."),
    "describe": ("describe", "Show what a broker holds and what it is waiting for."),
    "log": ("log", "Show what is in the files of a log."),
    "import": ("import_logs", "Take over the data directory of an Apache Kafka broker."),
    "completion": ("completion", "Print the completion script of a shell."),
}
SUMMARY = "A Kafka-compatible log for Python people."
AFTER = """\
Options:
  -h, --help      show this help and exit
  --version       show the version and exit

See odradek COMMAND --help for each. Exit codes: 0 done, 1 failed, 2 wrong use or setting."""

WHERE_BROKERS_ARE = (
    "The broker's address is given with -b, in a file with --config, or in $ODRADEK_BOOTSTRAP_SERVERS."
)
WHERE_THOSE_OF_A_PIPELINE_ARE = (
    "The brokers' addresses are bootstrap_servers in [source], or $ODRADEK_BOOTSTRAP_SERVERS."
)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exits with 0, 1 when something failed, 2 when a command or setting is wrong."""
    given = sys.argv[1:] if arguments is None else arguments
    gc.disable()  # Imports make no garbage; it is enabled again before the command runs.
    sys.exit(run(given))


def run(arguments: Sequence[str]) -> int:
    """Run one command; returns its exit code. Errors are printed as one sentence.

    A closed pipe, as of `head`, changes no exit code: `consume` and help end there, with 0, and the other
    commands go on without printing.
    """
    code = 0
    try:
        code = _run_or_complain(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # Python would report that at exit.
        from odradek.cli.output import let_go

        let_go(sys.stdout)
    return code


def _run_or_complain(arguments: Sequence[str]) -> int:
    try:
        return _run(list(arguments))
    except (SettingError, DataDirectoryError) as error:
        _complain(error)
        return EXIT_WRONG_USE
    except OdradekError as error:
        _complain(error)
        if isinstance(error, ApiError) and error.code is ErrorCode.NETWORK_EXCEPTION:
            is_pipeline = arguments[0] == "pipeline"
            print(WHERE_THOSE_OF_A_PIPELINE_ARE if is_pipeline else WHERE_BROKERS_ARE, file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def find(words: Sequence[str]) -> tuple[str, Command | Group, list[str]]:
    """Returns the command or group that a command line begins with, its words, and the rest.

    Raises UsageError for an unknown command.
    """
    name, rest = words[0], list(words[1:])
    if name not in MODULES and name.startswith("-"):
        known = [*HELP.names, "--version"]
        raise UsageError(f"{_no_option('odradek', name, known)}; see odradek --help")
    if name not in MODULES:
        raise UsageError(f"odradek has no command '{name}'{meant(name, list(MODULES))}; see odradek --help")
    module = import_module(f"odradek.cli.{MODULES[name][0]}")
    if not hasattr(module, "GROUP"):
        return f"odradek {name}", module.COMMAND, rest
    group: Group = module.GROUP
    if not rest or rest[0].startswith("-"):
        return f"odradek {name}", group, rest
    command = group.command(rest[0])
    if command is None:
        known = [one.name for one in group.commands]
        raise UsageError(
            f"odradek {name} has no command '{rest[0]}'{meant(rest[0], known)}; see odradek {name} --help"
        )
    return f"odradek {name} {command.name}", command, rest[1:]


def _no_option(path: str, name: str, known: Sequence[str]) -> str:
    hint = meant(name, list(known)) or ": options follow the command"
    return f"{path} has no option {name}{hint}"


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in HELP.names:
        summaries = [(name, summary) for name, (_, summary) in MODULES.items()]
        print(group_help("odradek", SUMMARY, summaries, AFTER))
        return 0 if arguments else EXIT_WRONG_USE
    if arguments[0] == "--version":
        from importlib.metadata import version

        print(f"odradek {version('odradek')}")
        return 0
    if arguments[0] not in (
        "log",
        "import",
        "pipeline",
        "serve",
    ):  # These take paths, which may be any bytes.
        _check_text(arguments)
    path, found, rest = find(arguments)
    if isinstance(found, Group):
        if rest and rest[0] not in HELP.names:
            raise UsageError(f"{_no_option(path, rest[0], HELP.names)}; see {path} --help")
        print(group_help(path, found.summary, [(one.name, one.summary) for one in found.commands]))
        return 0 if rest else EXIT_WRONG_USE
    try:
        options = parse(path, found, rest)
    except HelpWanted:
        print(command_help(path, found))
        return 0
    if arguments[0] != "serve":  # A broker has more to import, and enables it itself.
        gc.enable()
    return found.run(options) or 0


def _check_text(arguments: Sequence[str]) -> None:
    """Raises UsageError for an argument that is not UTF-8, which the protocol could not carry."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError as error:
            raise SettingError(f"an argument is not UTF-8: {argument!r}") from error


def _complain(error: OdradekError) -> None:
    from odradek.base.visible import visible

    said = visible(str(error))
    print(said if said.startswith("odradek ") else f"odradek: {said}", file=sys.stderr)


if __name__ == "__main__":
    main()
