"""A seed of the simulator is one history on every Python, byte for byte."""

import hashlib
import os

from odradek.testing.sim.trial.plan import draw_plan
from odradek.testing.sim.trial.trial import Trial

SEED = 1


def digest() -> str:
    """Stands for every message and every operation of a disk in one trial."""
    trial = Trial(draw_plan(SEED), is_traced=True)
    trial.run()
    assert trial.world.trace
    return hashlib.sha256("\n".join(trial.world.trace).encode()).hexdigest()


def test_the_history_is_that_of_the_checkout() -> None:
    """`./dev wheel` gives the digest that the checkout's own environment has."""
    assert digest() == os.environ["ODRADEK_HISTORY"]
