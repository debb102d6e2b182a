"""CRC-32C, as the package `crc32c` computes it.

The package's `__init__` imports `importlib.metadata` (for its version) and a command line, which takes 25 ms,
a tenth of the startup time. So its C module is loaded directly if it exists; otherwise the package is
imported. Executors of a Spark cluster may have neither, and compute it by numpy.
"""

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Final, Protocol

from odradek.base.buffers import Buffer


class Crc(Protocol):
    """The checksum of bytes, or of bytes behind others that have `crc`."""

    def __call__(self, data: Buffer, crc: int = 0, /) -> int:
        """Returns the checksum."""


def _load() -> Crc:
    package = None if "crc32c" in sys.modules else PathFinder.find_spec("crc32c")
    if package is not None:
        spec = PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations)
        if spec is not None and spec.loader is not None:
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            loaded: Crc = module.crc32c
            return loaded
    try:
        from crc32c import crc32c as of_package
    except ModuleNotFoundError:
        from odradek.records.crc_arrays import crc32c as of_arrays

        return of_arrays
    found: Crc = of_package
    return found


crc32c: Final = _load()
