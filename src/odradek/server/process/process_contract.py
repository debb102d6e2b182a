"""What those who start a broker's process may rely on: its line on the standard output, its exit codes."""

from typing import Final

READY: Final = "odradek: listening "
"""How the line begins that is printed when clients may connect."""

EXIT_FAILED: Final = 1
"""It could no longer work. 0 is a clean stop, and 2 a start that was refused in a sentence."""
EXIT_STOPPED_TWICE: Final = 130
"""A second signal ended it without a clean stop."""
