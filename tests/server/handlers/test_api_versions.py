import pytest

from odradek.base.error_codes import ErrorCode
from odradek.server.handlers.api_versions import unsupported_version
from odradek.server.handlers.index import INDEX
from odradek.server.handlers.registry import Handlers
from odradek.testing.sim import SimNode
from odradek.wire.apis import APIS
from odradek.wire.messages.api_versions import ApiVersionsRequest

BETWEEN_BROKERS = {4, 5, 6, 7, 58, 67}


@pytest.mark.parametrize("version", range(6))
def test_what_is_served_is_told_and_nothing_else(node: SimNode, version: int) -> None:
    answer = node.ask(ApiVersionsRequest("kafka-python", "3.0"), version)
    told = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
    assert told.keys() == {row.key for row in INDEX} - BETWEEN_BROKERS
    assert told[1] == (4, 18)
    assert not BETWEEN_BROKERS & set(told), "orders are for the listener between brokers alone"


def test_produce_is_told_from_version_0_although_it_is_served_from_3(node: SimNode) -> None:
    """KIP-896: librdkafka decides features by it."""
    answer = node.ask(ApiVersionsRequest("a", "1"))
    (produce,) = [api for api in answer.api_keys if api.api_key == 0]
    assert (produce.min_version, produce.max_version) == (0, 13)
    assert next(row for row in INDEX if row.key == 0).lowest == 3


@pytest.mark.parametrize("version", [3, 4])
def test_features_are_finalized_when_they_are_served(node: SimNode, version: int) -> None:
    answer = node.ask(ApiVersionsRequest("a", "1"), version)
    levels = {one.name: one.max_version_level for one in answer.finalized_features}
    assert (levels["transaction.version"], levels["group.version"]) == (2, 1)
    assert answer.finalized_features_epoch >= 0, "-1 would say that nothing is known"
    # Clients of version 3 fail at a feature whose lowest level is 0.
    assert bool(answer.supported_features) == (version == 4)


@pytest.mark.parametrize("name", ["", "-a", "a b", "ä"])
def test_software_without_a_proper_name_is_refused(node: SimNode, name: str) -> None:
    """KIP-511"""
    answer = node.ask(ApiVersionsRequest(name, "1"), 3)
    assert (answer.error_code, answer.api_keys) == (ErrorCode.INVALID_REQUEST, [])


@pytest.mark.parametrize(
    ("named", "node_id", "is_meant"),
    [(None, -1, True), ("ours", -1, True), ("ours", 0, True), ("other", 0, False), ("ours", 7, False)],
)
def test_a_client_that_means_another_broker_is_sent_back(
    node: SimNode, named: str | None, node_id: int, is_meant: bool
) -> None:
    """KIP-1242: a client whose broker's address is another's now bootstraps again."""
    assert node.core.broker_id == 0
    cluster_id = node.core.image.cluster_id if named == "ours" else named
    answer = node.ask(ApiVersionsRequest("a", "1", cluster_id, node_id), 5)
    assert answer.error_code == (0 if is_meant else ErrorCode.REBOOTSTRAP_REQUIRED)
    assert bool(answer.api_keys) == is_meant


def test_an_unknown_version_is_answered_with_all_that_is_known() -> None:
    answer = unsupported_version()
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert {api.api_key for api in answer.api_keys} == {row.key for row in INDEX} - BETWEEN_BROKERS


def test_every_handler_stands_under_its_apis_name() -> None:
    handlers = Handlers()
    for _ in handlers.load_by_and_by():
        pass
    for key in handlers.api_keys:
        handler = handlers.get(key)
        assert handler is not None
        assert handler.name == APIS[key].name
        assert handler.refuse is not None, f"{handler.name} cannot answer a mistake of ours"
    assert handlers.get(9999) is None
