"""Open files are what connections and logs share, and a broker without any left loses its log directories.

Law: clients get half of them, so that no number of connections can make a write fail. The system's limit is
raised to the most that it allows first, in a process of its own.

    ulimit -n 20000        10,000 connections at most, whatever `max.connections` says
"""

import resource
from typing import Final

# Where the system sets no limit, or one too high to be meant.
OPEN_FILES_MAX: Final = 1 << 20
CONNECTIONS_SHARE: Final = 2


def raise_limit() -> None:
    """Let this process open as many files as it may; a system that refuses keeps its limit."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES_MAX if most == resource.RLIM_INFINITY else min(most, OPEN_FILES_MAX)
    if limit == resource.RLIM_INFINITY or limit >= wanted:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    except (OSError, ValueError):
        pass  # macOS names no limit and has one; connections get their share of what there is.


def connections_affordable() -> int:
    """How many connections may be open at once."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES_MAX if limit == resource.RLIM_INFINITY else min(limit, OPEN_FILES_MAX)
    return most // CONNECTIONS_SHARE
