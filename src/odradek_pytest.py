"""The entry point of Odradek's pytest plugin: it sees that pytest takes the package as it is compiled.

pytest rewrites the assertions of every module of a distribution that brings a plugin. Of Odradek that is the
whole broker, which has no assertions for tests to show: 0.6 s of each run that cannot keep the result. So
this file, the only one that pytest still rewrites, puts Python's own finder before pytest's for the package.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class AsCompiled:
    """A finder for the package `odradek`."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder.find_spec`."""
        return PathFinder.find_spec(name, path, target) if name.partition(".")[0] == "odradek" else None


sys.meta_path.insert(0, AsCompiled)

from odradek.testing.pytest_plugin import *  # noqa: E402, F403 - after the finder; the fixtures and hooks
