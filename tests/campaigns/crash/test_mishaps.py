"""Which mishaps a campaign on a cluster draws."""

from itertools import islice
from random import Random

from campaigns.crash.mishaps import Mishap, drawn


def test_every_mishap_comes_before_any_comes_again() -> None:
    assert set(islice(drawn(Random(1)), len(Mishap))) == set(Mishap)


def test_a_seed_decides_the_order() -> None:
    first, again, other = (list(islice(drawn(Random(seed)), 25)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
