"""Names that a package has, but whose modules are imported when a name is first used.

    __getattr__ = lazy_names(__name__, {"GroupCoordinator": "odradek.coordinator.groups.group_coordinator"})

Importing one module of a package runs the package's `__init__` first. One that imports all its modules makes
of them a single piece of work, which no broker can load in steps.
"""

from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Returns a package's `__getattr__` (PEP 562), for names that are in other modules."""

    def find(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return find
