"""The admin client of the commands: how it is configured, and what it says of a cluster that is away."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError, ElementsRefused
from odradek.cli.administering import about_one, admin_settings, administering
from odradek.cli.main import WHERE_BROKERS_ARE, run
from odradek.client.configuration import ClientConfig, from_properties
from odradek.client.core.admin.topics import list_topics
from odradek.client.settings import (
    BOOTSTRAP_SERVERS,
    CLIENT_ID,
    DEFAULT_API_TIMEOUT_MS,
    REQUEST_TIMEOUT_MS,
    SETUP_TIMEOUT_MS,
)
from odradek.testing import Broker


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
    reasons = said.removeprefix("odradek: ").split("; ")
    assert sorted(reasons) == sorted(
        f"cannot connect to 127.0.0.1:{port}: connection refused" for port in (first, second)
    )
    assert hint == WHERE_BROKERS_ARE


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
