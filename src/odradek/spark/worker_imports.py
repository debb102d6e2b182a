"""What a Python worker of Spark's does again before each task, and need not.

A worker imports pyspark from a zip, on a cluster also our modules, and finds Spark's jar on its path. Before
each task it tells all importers to look anew at what they import from. Python keeps an importer for each
package, and each of them reads the whole directory of its zip or jar: 0.2 s of CPU for a task.
"""

import sys
from collections.abc import MutableMapping
from pathlib import PurePath
from typing import Any, Final
from zipimport import zipimporter

# What no task replaces while a worker lives: Spark's zips and jar, and our zip, named by its content.
_UNCHANGING: Final = ("pyspark", "py4j-", "spark-core_", "odradek-")


class _OfUnchanging(zipimporter):
    """Imports from a zip that stays as it is."""

    def invalidate_caches(self) -> None:
        """There is nothing new to be seen."""


def read_zips_once(importers: MutableMapping[str, Any] = sys.path_importer_cache) -> None:
    """Let this worker's importers read the directories of Spark's zips and ours no more.

    Called by each read and write within a worker, since each may have imported from more packages; elsewhere
    there are no such importers.
    """
    for path, importer in list(importers.items()):
        if type(importer) is zipimporter and PurePath(importer.archive).name.startswith(_UNCHANGING):
            importers[path] = _OfUnchanging(path)
