"""`./dev generate`: writes server/handlers/index.py from what the handlers' modules declare (`SERVES`).

It also writes server/node/load_order.py: the order in which Python finishes importing the modules that
handlers and coordinators need, so that a broker can load them one by one.
"""

import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from odradek.server import handlers, node
from odradek.server.edge.serving import Serves
from odradek.wire.apis import APIS

INDEX = Path(handlers.__file__).with_name("index.py")
_HEAD = INDEX.read_text().partition("INDEX: Final")[0]
ORDER = Path(node.__file__).with_name("load_order.py")
_ORDER_HEAD = ORDER.read_text().partition("LOAD_ORDER: Final")[0]


def declared() -> dict[str, Serves]:
    """What each handler's module declares, by the module's name, by rising API key.

    Raises ValueError where a declaration contradicts the codec or the module's name.
    """
    found: dict[str, Serves] = {}
    for module in pkgutil.iter_modules(handlers.__path__):
        serves = getattr(import_module(f"{handlers.__name__}.{module.name}"), "SERVES", None)
        if serves is None:
            continue
        api = APIS[serves.key]
        if api.snake_name != module.name:
            raise ValueError(f"{module.name} serves {api.name}: name it {api.snake_name}")
        if not (api.versions.lowest <= serves.lowest <= serves.highest <= api.versions.highest):
            raise ValueError(f"{module.name} serves versions that the codec does not know")
        found[module.name] = serves
    return dict(sorted(found.items(), key=lambda item: item[1].key))


# Imports the modules that a started broker has; it loads the others that handlers need one by one.
_STARTED = "import odradek.server.process.serve, odradek.server.process.embedded_store"
_LOAD_ALL = """
import odradek.server.node.coordinators.image_topics
import odradek.coordinator.groups.group_coordinator
import odradek.coordinator.transactions.transaction_coordinator
from odradek.server.handlers.registry import Handlers
handlers = Handlers()
for api_key in handlers.api_keys:
    handlers.get(api_key)
"""
_FINISHED = re.compile(r"^import time: .*\| +(odradek\.\S+)$", re.MULTILINE)


def load_order() -> list[str]:
    """What a started broker has not loaded, each module behind all that it imports."""

    def finished(program: str) -> list[str]:
        command = [sys.executable, "-X", "importtime", "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return _FINISHED.findall(done.stderr)

    started = set(finished(_STARTED))
    return [name for name in finished(_STARTED + _LOAD_ALL) if name not in started]


def render() -> str:
    """The whole file of the index."""
    rows = [
        f'    Row({one.key}, "{module}", {one.lowest}, {one.highest}, '
        f"{one.lowest if one.listed_from is None else one.listed_from}"
        f"{', True' if one.by_brokers or APIS[one.key].inter_broker_only else ''}),\n"
        for module, one in declared().items()
    ]
    return f"{_HEAD}INDEX: Final[tuple[Row, ...]] = (\n{''.join(rows)})\n"


def render_order() -> str:
    """The whole file of the load order."""
    loaded = "".join(f'    "{name}",\n' for name in load_order())
    return (
        f"{_ORDER_HEAD}LOAD_ORDER: Final[tuple[str, ...]] = (\n{loaded})\n"
        '"""What a started broker has not loaded, each module behind all that it imports."""\n'
    )


def main() -> int:
    """Write the index and the load order."""
    INDEX.write_text(render())
    ORDER.write_text(render_order())
    return 0


if __name__ == "__main__":
    sys.exit(main())
