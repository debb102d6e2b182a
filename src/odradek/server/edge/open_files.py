"""Open files are what connections and logs share, and a broker without any left loses its log directories.

Invariant: connections get half of them, so that no number of these can make a write fail; of that half a
small part is the admin listener's, so that neither clients nor monitoring keep the other out.
The system's limit is raised to the most that it allows first, in a process of its own.

    ulimit -n 20000        9,936 of clients at most, whatever `max.connections` says, 64 of the admin listener
    ulimit -n 600            282 of clients, 18
"""

import resource
from typing import Final

# Where the system sets no limit, or one too high to be meant.
OPEN_FILES_MAX: Final = 1 << 20
CONNECTIONS_SHARE: Final = 2
ADMIN_CONNECTIONS_MAX: Final = 64
ADMIN_SHARE: Final = 32


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
    """How many connections of clients may be open at once."""
    return open_files() // CONNECTIONS_SHARE - admin_connections_affordable()


def admin_connections_affordable() -> int:
    """How many connections of the admin listener may be open at once."""
    return min(ADMIN_CONNECTIONS_MAX, open_files() // ADMIN_SHARE)


def open_files() -> int:
    """How many files this process may have open."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return OPEN_FILES_MAX if limit == resource.RLIM_INFINITY else min(limit, OPEN_FILES_MAX)
