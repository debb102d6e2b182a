from dataclasses import replace

import pytest

from odradek.base.execution import TurnTime
from odradek.base.held_calls import HeldCalls
from odradek.base.settings import BrokerSettings
from odradek.server.edge.connections import ConnectionMaker


@pytest.mark.asyncio
@pytest.mark.parametrize(("spin_us", "cpus", "spins"), [(0, 8, False), (150, 8, True), (150, 1, False)])
async def test_the_loop_polls_where_it_is_asked_to_and_there_is_a_processor_to_spare(
    monkeypatch: pytest.MonkeyPatch, spin_us: int, cpus: int, spins: bool
) -> None:
    monkeypatch.setattr("odradek.server.edge.connections.cpus_usable", lambda: cpus)
    settings = replace(BrokerSettings(), odradek_loop_spin_max_us=spin_us)
    maker = ConnectionMaker(lambda: settings, HeldCalls(), TurnTime(lambda: 0))
    assert (maker.spin is not None, maker._ready._spin is maker.spin) == (spins, True)
