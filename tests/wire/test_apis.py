import pytest

from odradek.wire.apis import APIS, Api, advertised
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


def test_the_ranges_are_those_of_kafka_4_1() -> None:
    assert APIS[1].advertised == Versions(4, 18)
    assert APIS[19].advertised == Versions(2, 7)
    assert APIS[17].flexible_from == VERSION_LIMIT
    assert len(APIS) == 62


def test_produce_is_listed_from_version_0_and_served_from_3() -> None:
    """KIP-896: librdkafka decides features by the lowest version of Produce."""
    assert APIS[0].advertised == Versions(0, 13)
    assert APIS[0].versions == Versions(3, 13)


def test_control_requests_are_told_of_on_the_inter_broker_listener_alone() -> None:
    served = [18, 4, 0, 6]
    assert [api.key for api in advertised(served)] == [0, 18]
    assert [api.key for api in advertised(served, inter_broker=True)] == [0, 4, 6, 18]
    assert [api.key for api in APIS.values() if api.inter_broker_only] == [4, 5, 6, 7]
