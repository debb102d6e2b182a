"""The command `odradek`.

`serve` starts without the libraries that draw tables and parse options for the other commands: they cost more
time and memory than the broker itself needs to be up.
"""

import gc
import sys
from typing import Final

from odradek.base.extras import missing_extra

EXIT_WRONG_USE: Final = 2


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exits with 0, 1 when something failed, 2 when a command or setting is wrong."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["serve"]:
        gc.disable()  # what is imported stays; `serve` enables it again
        from odradek.cli.serve import run as run_serve

        sys.exit(run_serve(given[1:]))
    try:
        from odradek.cli.app import run as run_app
    except ModuleNotFoundError:
        reason = missing_extra("cli", f"odradek {' '.join(given[:1])}".strip())
        if not reason:
            raise
        print(f"odradek: {reason}", file=sys.stderr)
        sys.exit(EXIT_WRONG_USE)

    sys.exit(run_app(given))


if __name__ == "__main__":
    main()
