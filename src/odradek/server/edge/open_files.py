"""Divides the limit of open files: a broker that reaches the limit loses its log directories.

Invariant: connections get half of the open files, so that no number of connections can make a write fail. A
small part of that half belongs to the admin listener, so that neither clients nor monitoring exclude the
other. A broker with a process of its own first raises the limit to the most that the system allows.

    ulimit -n 20000        9,936 of clients at most, whatever `max.connections` says, 64 of the admin listener
    ulimit -n 600            282 of clients, 18
"""

import resource
from typing import Final

# Used if the system sets no limit, or an unrealistically high one.
OPEN_FILES_MAX: Final = 1 << 20
CONNECTIONS_SHARE: Final = 2
ADMIN_CONNECTIONS_MAX: Final = 64
ADMIN_SHARE: Final = 32


def raise_limit() -> None:
    """Raise this process's limit of open files to the maximum; keep it if the system refuses."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES_MAX if most == resource.RLIM_INFINITY else min(most, OPEN_FILES_MAX)
    if limit == resource.RLIM_INFINITY or limit >= wanted:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    except (OSError, ValueError):
        pass  # macOS reports no limit but has one; connections get their share of the present limit.


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
