"""ListConfigResources, against what Apache Kafka 4.1 answers to the same requests."""

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.testing.sim import SimNode
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.list_config_resources import ListConfigResourcesRequest

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


@pytest.fixture(autouse=True)
def flights(node: SimNode) -> None:
    node.ask(CreateTopicsRequest([CreatableTopic("flights", 1, 1)], timeout_ms=1000))


def listed(node: SimNode, *types: int) -> set[tuple[int, str]]:
    answer = node.ask(ListConfigResourcesRequest(list(types)), 1)
    assert answer.error_code == 0
    return {(found.resource_type, found.resource_name) for found in answer.config_resources}


def test_no_type_means_all_types(node: SimNode) -> None:
    assert listed(node) == {(TOPIC, "flights"), (BROKER, "0"), (BROKER_LOGGER, "0")}


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ([TOPIC], {(TOPIC, "flights")}),
        ([BROKER], {(BROKER, "0")}),
        ([TOPIC, TOPIC, BROKER], {(TOPIC, "flights"), (BROKER, "0")}),
        ([CLIENT_METRICS, GROUP], set()),
    ],
)
def test_only_the_types_asked_for_are_listed(
    node: SimNode, types: list[int], expected: set[tuple[int, str]]
) -> None:
    """KIP-1142"""
    assert listed(node, *types) == expected


@pytest.mark.parametrize("types", [[99], [0], [TOPIC, 99]])
def test_an_unknown_type_is_refused(node: SimNode, types: list[int]) -> None:
    answer = node.ask(ListConfigResourcesRequest(types), 1)
    assert (answer.error_code, answer.config_resources) == (ErrorCode.UNSUPPORTED_VERSION, [])


def test_version_0_lists_client_metrics_of_which_there_are_none(node: SimNode) -> None:
    """KIP-1000"""
    answer = node.ask(ListConfigResourcesRequest(), 0)
    assert (answer.error_code, answer.config_resources) == (0, [])
