import pytest

from odradek.wire.apis import APIS, Api
from odradek.wire.schema import parse
from odradek.wire.versions import VERSION_LIMIT, Versions

EVERY_API = [pytest.param(api, id=api.name) for api in APIS.values()]


@pytest.mark.parametrize("api", EVERY_API)
def test_the_table_and_the_messages_agree(api: Api) -> None:
    for kind in (api.request_class, api.response_class):
        assert api.key == kind.API_KEY
        assert api.versions == kind.VERSIONS
        # kio tells of the versions in range alone, so a message that is flexible throughout says its lowest.
        assert kind.FLEXIBLE_FROM in (api.flexible_from, max(api.flexible_from, api.versions.lowest))
        assert [one.name for one in parse(kind.SCHEMA).messages] == [
            api.name + "Request",
            api.name + "Response",
        ]


def test_the_ranges_are_those_of_kafka() -> None:
    assert APIS[1].versions == Versions(4, 18)
    assert APIS[19].versions == Versions(2, 7)
    assert APIS[17].flexible_from == VERSION_LIMIT
    assert len(APIS) == 64


def test_control_requests_are_for_the_inter_broker_listener_alone() -> None:
    assert [api.key for api in APIS.values() if api.inter_broker_only] == [4, 5, 6, 7, 58, 67]
