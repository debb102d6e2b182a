"""The user's cache of what peers are made of: jars, classes, programs of other languages.

Nothing in it changes once it has its name, so whatever is there is whole.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_directory() -> Path:
    """The directory for jars and for what is built against them."""
    if "ODRADEK_CACHE" in os.environ:
        return Path(os.environ["ODRADEK_CACHE"]) / "peer"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "odradek" / "peer"


@contextmanager
def adding(to_make: Path) -> Iterator[bool]:
    """Yield whether that path of the cache is still to be made, and let no other process make any meanwhile.

    Whoever waited finds what the other has made. Maven's and Go's own caches need no second writer either.
    Not to be nested.
    """
    if to_make.exists():
        yield False
        return
    directory = cache_directory()
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "adding.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield not to_make.exists()
