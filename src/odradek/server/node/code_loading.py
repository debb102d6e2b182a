"""Loads code that a start leaves out: one module in each step, so that no client waits for all of it.

A coordinator has about 100 modules. Loading them takes 100 ms, and several times that where Python may not
keep their compiled form; a broker that has just started is often asked for one at once.
"""

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

from odradek.base.execution import Steps
from odradek.server.node.load_order import LOAD_ORDER

LoadCode: TypeAlias = Callable[[Callable[[], Any]], Any]
"""Runs a call that loads code, and returns its result; see `LoopStalls.load`."""


def load_modules(load_code: LoadCode, last: str | None = None) -> Steps[None]:
    """Load the modules of LOAD_ORDER that are not loaded, all of them or those up to `last`.

    A module that is loaded makes a step, too: else a simulated history would depend on what its process did
    before.
    """
    for name in LOAD_ORDER:
        if name not in sys.modules:
            load_code(partial(import_module, name))
        yield
        if name == last:
            return
