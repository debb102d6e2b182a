"""The code that a broker loads after its start, one module at a time."""

import json
import subprocess
import sys

import pytest

_ASK = """
import sys
from odradek.server.edge.loop_stalls import LoopStalls

most = 0
def load(self, call):
    global most
    before = set(sys.modules)
    result = call()
    new = [name for name in sys.modules if name.startswith("odradek.") and name not in before]
    assert len(new) < 8, new
    most = max(most, len(new))
    return result

LoopStalls.load = load

from odradek.testing.sim import World
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest

node = World().node()
(found,) = node.ask(FindCoordinatorRequest(key_type=KEY_TYPE, coordinator_keys=["k"])).coordinators
assert found.error_code == 0, found
assert "MODULE" in sys.modules
print(most)
"""


@pytest.mark.parametrize(
    ("key_type", "module"),
    [
        (0, "odradek.coordinator.groups.group_coordinator"),
        (1, "odradek.coordinator.transactions.transaction_coordinator"),
    ],
)
def test_a_coordinator_is_loaded_one_module_at_a_time(key_type: int, module: str) -> None:
    """In a process of its own: here, other tests have loaded it."""
    program = _ASK.replace("KEY_TYPE", str(key_type)).replace("MODULE", module)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    assert int(done.stdout) >= 1


_COUNT = """
from odradek.server.node.code_loading import load_modules

print([len(list(load_modules(lambda load: load()))) for _ in range(2)])
"""


def test_what_is_loaded_makes_the_same_steps() -> None:
    """Or a simulated history would depend on what its process has loaded before."""
    command = [sys.executable, "-c", _COUNT]
    first, second = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert first == second > 0
