"""R15e: the ELR that goes with a new ISR."""

import pytest

from odradek.base.ids import BrokerId
from odradek.metadata.eligible import eligible_after


@pytest.mark.parametrize(
    ("isr", "elr", "new_isr", "min_isr", "expected"),
    [
        pytest.param((1, 2, 3), (), (1, 2), 2, (), id="at min ISR"),
        pytest.param((1, 2), (), (1,), 2, (2,), id="below min ISR"),
        pytest.param((1, 2, 3), (), (1,), 2, (2, 3), id="two leave at once"),
        pytest.param((1,), (2,), (2,), 2, (1,), id="a member of the ELR takes the place of the leader"),
        pytest.param((1,), (2, 3), (1, 3), 3, (2,), id="one joins, and others are missing still"),
        pytest.param((1,), (2,), (1, 3), 2, (), id="min ISR is reached again"),
    ],
)
def test_the_elr_after_an_isr(
    isr: tuple[BrokerId, ...],
    elr: tuple[BrokerId, ...],
    new_isr: tuple[BrokerId, ...],
    min_isr: int,
    expected: tuple[BrokerId, ...],
) -> None:
    """R15e"""
    assert eligible_after(isr, elr, new_isr, min_isr) == expected
