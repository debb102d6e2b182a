"""The admin client of the commands: how it is configured, and what it says of a cluster that is away."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, TypeVar

import pytest

import odradek.client.administering
from odradek.base.closing import Closing
from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, ElementsRefused
from odradek.cli.connecting import ANSWER_MAX_S, answering_within
from odradek.cli.main import WHERE_BROKERS_ARE, run
from odradek.client.administering import about_one, admin_settings, administering
from odradek.client.configuration import ClientConfig, from_properties
from odradek.client.core.admin.topics import list_topics
from odradek.client.core.operation import Operation
from odradek.client.core.requests import Send, ToNode
from odradek.client.settings import (
    BOOTSTRAP_SERVERS,
    CLIENT_ID,
    DEFAULT_API_TIMEOUT_MS,
    REQUEST_TIMEOUT_MS,
    SETUP_TIMEOUT_MS,
    Settings,
)
from odradek.net.request_pipeline import ConnectionFailed
from odradek.testing import Broker
from odradek.wire.message import Message
from odradek.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from odradek.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from odradek.wire.messages.list_transactions import ListTransactionsResponse, TransactionState
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse
from tests.client.core.running import Running

T = TypeVar("T")


@contextmanager
def closed_port() -> Iterator[int]:
    """A port on which nobody listens, which nobody else gets meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def test_a_file_of_properties_configures_it() -> None:
    names = {"client.id": "me", "request.timeout.ms": "700", "default.api.timeout.ms": "9000"}
    config, warnings = from_properties(names, ClientConfig("a:1,b:2"))
    assert warnings == []
    settings = admin_settings(config)
    assert settings[BOOTSTRAP_SERVERS] == (("a", 1), ("b", 2))
    assert settings[CLIENT_ID] == "me"
    assert settings[REQUEST_TIMEOUT_MS] == settings[SETUP_TIMEOUT_MS] == 700
    assert settings[DEFAULT_API_TIMEOUT_MS] == 9_000


def test_it_tries_again_for_as_long_as_one_request_may_take() -> None:
    settings = admin_settings(ClientConfig())
    assert settings[DEFAULT_API_TIMEOUT_MS] == settings[REQUEST_TIMEOUT_MS] == 30_000
    assert settings[SETUP_TIMEOUT_MS] == 10_000


def test_a_cluster_of_which_no_broker_listens_is_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with closed_port() as first, closed_port() as second:
        assert run(["topics", "list", "-b", f"127.0.0.1:{first},127.0.0.1:{second}"]) == 1
    said, hint = capsys.readouterr().err.splitlines()
    reasons = [f"cannot connect to 127.0.0.1:{port}: connection refused" for port in (first, second)]
    assert (said, hint) == (f"odradek: {'; '.join(reasons)}", WHERE_BROKERS_ARE)


def test_a_bootstrap_server_that_is_away_is_passed_over() -> None:
    with (
        closed_port() as port,
        Broker() as broker,
        administering(ClientConfig(f"127.0.0.1:{port},{broker.bootstrap_servers}")) as admin,
    ):
        assert admin.carry_out(list_topics()) == []


def test_a_broker_that_says_nothing_is_given_up_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        config = ClientConfig(f"127.0.0.1:{silent.getsockname()[1]}", request_timeout_ms=50)
        with pytest.raises(ApiError, match=r"did not answer within 0\.05 s"), administering(config):
            pytest.fail("it was not reached")


def test_of_one_element_only_the_reason_is_said() -> None:
    error = ApiError(ErrorCode.INVALID_CONFIG, "flights: no setting retention")
    with pytest.raises(ApiError) as refused, about_one("flights"):
        raise ElementsRefused({"flights": error}, [])
    assert (refused.value.code, refused.value.message) == (ErrorCode.INVALID_CONFIG, "no setting retention")


# --- lists of the whole cluster


class Lists(Closing):
    """Three brokers with a group and a transactional id each: the second is away, the third hangs up."""

    has_any = True
    timeouts_ms: ClassVar[list[int]] = []

    def __init__(self, settings: Settings, **_: object) -> None:
        self.timeouts_ms.append(settings[REQUEST_TIMEOUT_MS])

    def reach(self) -> None:
        """The first one answers."""

    def carry_out(self, operation: Operation[T]) -> T:
        running = Running(operation)
        while not running.is_done:
            running.answer(*(self._said(send) for send in running.sends))
        return running.result

    def close(self) -> None:
        """Nothing to close."""

    def _said(self, send: Send) -> Message | ApiError:
        if isinstance(send.request, MetadataRequest):
            return MetadataResponse()
        if isinstance(send.request, DescribeClusterRequest):
            return DescribeClusterResponse(brokers=[DescribeClusterBroker(one) for one in (1, 2, 3)])
        if send.to != ToNode(1):
            return ConnectionFailed("no connection to b2:9092" if send.to == ToNode(2) else "it hung up")
        if isinstance(send.request, ListGroupsRequest):
            return ListGroupsResponse(groups=[ListedGroup("group-1")] if self.has_any else [])
        states = [TransactionState("id-1", 1, "Empty")]
        return ListTransactionsResponse(transaction_states=states if self.has_any else [])


@pytest.mark.parametrize("command", ["groups", "transactions"])
def test_a_list_without_some_brokers_says_so(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(odradek.client.administering, "opened", Lists)
    Lists.timeouts_ms.clear()
    assert run([command, "list"]) == 1
    assert Lists.timeouts_ms == [int(ANSWER_MAX_S * 1000)]
    out, err = capsys.readouterr()
    assert ("group-1" if command == "groups" else "id-1") in out
    assert (
        "the list is incomplete: broker 2 does not answer: no connection to b2:9092;"
        " broker 3 does not answer: it hung up"
    ) in err
    things = "groups" if command == "groups" else "transactional ids"
    assert run([command, "list", "--filter", "none-of-them"]) == 1
    assert capsys.readouterr().out == f"The brokers that answer have no such {things}.\n"
    monkeypatch.setattr(Lists, "has_any", False)
    assert run([command, "list"]) == 1
    assert capsys.readouterr().out == f"The brokers that answer have no {things}.\n"


def test_each_broker_of_a_list_has_a_few_seconds_and_the_list_has_more() -> None:
    settings = admin_settings(answering_within(ClientConfig(request_timeout_ms=20_000)))
    assert settings[REQUEST_TIMEOUT_MS] == settings[SETUP_TIMEOUT_MS] == 5_000
    assert settings[DEFAULT_API_TIMEOUT_MS] == 20_000
    assert admin_settings(answering_within(ClientConfig(request_timeout_ms=700)))[REQUEST_TIMEOUT_MS] == 700
