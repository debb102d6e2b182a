"""Makes all threads of this process allocate from one arena of glibc's malloc.

By default glibc gives each thread an arena of its own, up to eight for each processor. An arena gives memory
back to the system only from its end, so a decompression on a worker thread leaves a few MB there, which no
other thread can use:

    300,000 requests of `./dev fuzz`     107 MB resident with an arena for each thread, 94 with one

More arenas only avoid waiting for a lock. Here one thread computes at a time, and the others allocate seldom.
"""

import os
import sys
from typing import Final

_M_ARENA_MAX: Final = -8
"""The parameter of `mallopt`, from glibc's malloc.h."""
_CHOSEN_BY: Final = ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")
"""Environment variables with which whoever starts the broker decides instead."""


def share_one_arena() -> bool:
    """Call before the first thread is started. Returns whether glibc follows; other C libraries do not."""
    if sys.platform != "linux" or any(name in os.environ for name in _CHOSEN_BY):
        return False
    try:
        from ctypes import CDLL

        return bool(CDLL(None).mallopt(_M_ARENA_MAX, 1))
    except (ImportError, OSError, AttributeError):  # no ctypes, or no glibc
        return False
