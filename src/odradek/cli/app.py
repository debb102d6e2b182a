"""All commands but `serve`, put together; each stands in a file of its own."""

from collections.abc import Sequence

import typer

from odradek.base.errors import OdradekError, SettingError
from odradek.cli import configs, consume, describe, groups, log, produce, topics, transactions
from odradek.cli.output import say

EXIT_FAILED = 1
EXIT_WRONG_USE = 2

app = typer.Typer(
    name="odradek",
    help="A Kafka-compatible log for Python people.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(topics.app, name="topics")
app.add_typer(configs.app, name="configs")
app.add_typer(groups.app, name="groups")
app.add_typer(transactions.app, name="transactions")
app.add_typer(describe.app, name="describe")
app.add_typer(log.app, name="log")
app.command("produce")(produce.produce)
app.command("consume")(consume.consume)


@app.command("serve", context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
def serve() -> None:
    """Run a broker until SIGTERM or Ctrl-C (options: odradek serve --help)."""
    raise AssertionError("main runs this command itself")


def run(arguments: Sequence[str]) -> int:
    """Run one command; errors end as one plain sentence on the error output and an exit code."""
    try:
        if arguments[:1] != ["log"]:  # It takes paths, which may be any bytes.
            _check_text(arguments)
        typer.main.get_command(app).main(list(arguments), prog_name="odradek")
    except SettingError as error:
        say(f"odradek: {error}", as_error=True)
        return EXIT_WRONG_USE
    except OdradekError as error:
        say(f"odradek: {error}", as_error=True)
        return EXIT_FAILED
    except SystemExit as end:  # How the option parser ends, also when all went well.
        return end.code if isinstance(end.code, int) else EXIT_FAILED
    return 0


def _check_text(arguments: Sequence[str]) -> None:
    """Names and values travel as UTF-8; bytes of another encoding could not be sent."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError as error:
            raise SettingError(f"an argument is not UTF-8: {argument!r}") from error
