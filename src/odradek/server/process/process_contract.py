"""What those who start a broker's process may rely on: its line on the standard output, its exit codes."""

import os
from typing import Final

READY: Final = "odradek: listening "
"""How the line begins that is printed when clients may connect."""

EXIT_FAILED: Final = 1
"""It could no longer work. 0 is a clean stop, and 2 a start that was refused in a sentence."""
EXIT_STOPPED_TWICE: Final = 130
"""A second signal ended it without a clean stop."""

_STOPPING: Final = "stopping"


def stopping_file(directory: str) -> str:
    """The file that says, while it exists, that all brokers of a cluster are asked to stop.

    `directory` is that of the cluster's sockets, `odradek.cluster.directory`.
    """
    return os.path.join(directory, _STOPPING)


def is_cluster_stopping(directory: str | None) -> bool:
    """Whether all brokers of a cluster stop; None is the directory of a broker without a supervisor."""
    return directory is not None and os.path.exists(stopping_file(directory))
