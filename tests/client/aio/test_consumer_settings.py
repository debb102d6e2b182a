"""What a consumer's settings may be together, and what its core is told."""

import pytest

from odradek.base.errors import SettingError
from odradek.client.aio.consumer_settings import consumer_options
from odradek.client.core.membership.member import CLASSIC
from odradek.client.settings import Client, read_settings


@pytest.mark.parametrize("value", [0, "0", -1])
def test_heartbeats_have_an_interval(value: object) -> None:
    with pytest.raises(SettingError, match=r"heartbeat\.interval\.ms is a whole number from 1 to"):
        read_settings(Client.CONSUMER, {"group.id": "g", "heartbeat.interval.ms": value})


@pytest.mark.parametrize(
    ("interval_ms", "session_ms"), [(6_000, 6_000), (6_001, 6_000), (45_000, None), (None, 3_000), (None, 0)]
)
@pytest.mark.parametrize("protocol", [None, "classic"])
def test_heartbeats_come_before_the_session_ends(
    interval_ms: int | None, session_ms: int | None, protocol: str | None
) -> None:
    """As Kafka's Java client refuses it; also beside a default."""
    given = {
        "group.id": "g",
        "heartbeat.interval.ms": interval_ms,
        "session.timeout.ms": session_ms,
        "group.protocol": protocol,
    }
    settings = read_settings(
        Client.CONSUMER, {name: value for name, value in given.items() if value is not None}
    )
    with pytest.raises(SettingError) as refused:
        consumer_options(settings)
    said = f"heartbeat.interval.ms, {interval_ms or 3_000}, must be below session.timeout.ms, "
    assert str(refused.value).startswith(said + str(45_000 if session_ms is None else session_ms))


def test_a_session_as_short_as_may_be() -> None:
    given = {"group.id": "g", "heartbeat.interval.ms": 1, "session.timeout.ms": 2}
    options = consumer_options(read_settings(Client.CONSUMER, given))
    assert options.protocol == CLASSIC
    assert options.member is not None
    assert (options.member.heartbeat_interval_ms, options.member.session_timeout_ms) == (1, 2)
