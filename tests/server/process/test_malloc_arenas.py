"""All threads of a broker's process share one arena of glibc's malloc."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import ctypes, sys, threading
from odradek.server.process.malloc_arenas import share_one_arena
print(share_one_arena() if sys.argv[1] == "share" else None)
kept = []
thread = threading.Thread(target=lambda: kept.extend(bytearray(5000) for _ in range(50)))
thread.start()
thread.join()
ctypes.CDLL(None).malloc_stats()
"""
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}


def run(argument: str, **environment: str) -> tuple[str, int]:
    """What `share_one_arena` returned, and how many arenas there are after a thread has taken memory."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, argument],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT | environment,
    )
    return done.stdout.strip(), done.stderr.count("Arena ")


@pytest.mark.slow
@pytest.mark.skipif(
    not (sys.platform == "linux" and os.confstr("CS_GNU_LIBC_VERSION")), reason="arenas are glibc's"
)
def test_threads_take_their_memory_from_the_one_arena_unless_the_environment_says_otherwise() -> None:
    assert run("leave") == ("None", 2)
    assert run("share") == ("True", 1)
    assert run("share", MALLOC_ARENA_MAX="8") == ("False", 2)
