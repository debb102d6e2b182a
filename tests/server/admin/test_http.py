"""The admin listener on a real socket."""

import http.client
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.net.blocking_connection import BrokerConnection
from odradek.server.admin.index_page import OFFERS
from odradek.server.edge.cannot_listen import CannotListen
from odradek.testing.broker import Broker
from odradek.testing.broker_process import BrokerProcess
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

pytestmark = pytest.mark.slow

JSON = "application/json"
HALF_A_REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-More: "


@pytest.fixture
def broker() -> Iterator[Broker]:
    settings = {"odradek.admin.port": "0", "odradek.admin.allowed.hosts": "broker.example"}
    with Broker(settings=settings) as running:
        yield running


def address(broker: Broker) -> tuple[str, int]:
    assert broker.admin_address is not None
    host, _, port = broker.admin_address.rpartition(":")
    return host, int(port)


def ask(broker: Broker, path: str, host: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(*address(broker), timeout=10)
    connection.request("GET", path, headers={"Host": host})
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    connection.close()
    return found


def test_it_answers_to_names_that_mean_this_machine_alone(broker: Broker) -> None:
    port = address(broker)[1]
    for host in (f"localhost:{port}", "127.0.0.1", "[::1]", "broker.example:80"):
        assert ask(broker, "/healthz", host) == (200, "alive\n")
    for path in ("/healthz", "/metrics", "/describe/groups", "/nothing"):
        status, text = ask(broker, path, f"evil.example:{port}")
        assert status == 403
        assert text.startswith("This listener answers to localhost, ")


def test_it_listens_where_it_is_told() -> None:
    """As Prometheus and the kubelet ask: by an address that is not loopback's own name."""
    with Broker(settings={"odradek.admin.port": "0", "odradek.admin.host": "127.0.0.2"}) as running:
        assert address(running)[0] == "127.0.0.2"
        assert ask(running, "/readyz", running.admin_address or "") == (200, "ready\n")
        assert ask(running, "/readyz", "evil.example")[0] == 403


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_where_it_cannot_listen_a_start_is_refused(host: str) -> None:
    with (
        pytest.raises(CannotListen, match=f"cannot listen on {host}:"),
        Broker(settings={"odradek.admin.port": "0", "odradek.admin.host": host}),
    ):
        pass


def test_the_index_page_s_links_are_answered(broker: Broker) -> None:
    status, page = ask(broker, "/", "localhost")
    assert status == 200
    assert page.startswith("<!DOCTYPE html>")
    for path, _ in OFFERS:
        assert ask(broker, path, "localhost")[0] == 200


def test_replicas_are_described_as_the_query_says(broker: Broker) -> None:
    topic = broker.create_topic(partitions=3)
    status, text = ask(broker, f"/describe/replicas?topic={topic}&limit=2", "localhost")
    found = json.loads(text)
    assert (status, found["left_out"]) == (200, 1)
    assert [(row["topic"], row["partition"]) for row in found["replicas"]] == [(topic, 0), (topic, 1)]
    status, text = ask(broker, "/describe/replicas?limit=none", "localhost")
    assert (status, json.loads(text)) == (400, {"error": "limit is a number from 1 to 1000"})


def test_a_description_is_sent_in_pieces(broker: Broker) -> None:
    topic = broker.create_topic(partitions=3)
    with socket.create_connection(address(broker), 10) as connection:
        connection.sendall(
            b"GET /describe/partitions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert answer.headers["Transfer-Encoding"] == "chunked"
        assert answer.headers["Content-Type"] == JSON
        found = json.loads(answer.read())
    assert [row["partition"] for row in found if row["topic"] == topic] == [0, 1, 2]


def test_half_a_request_is_closed_in_time(broker: Broker) -> None:
    with socket.create_connection(address(broker), 10) as waiting:
        waiting.sendall(HALF_A_REQUEST)
        ask(broker, "/healthz", "localhost")  # by now the other connection has been taken in
        broker.clock.advance(seconds=6)
        assert waiting.recv(1) == b""


def test_a_stop_does_not_wait_for_half_a_request(broker: Broker) -> None:
    with socket.create_connection(address(broker), 10) as waiting:
        waiting.sendall(HALF_A_REQUEST)
        ask(broker, "/healthz", "localhost")
        broker.stop()
        assert waiting.recv(1) == b""
        broker.start()  # for the fixture to stop


def send_fault(
    address: str, method: str, path: str = "/test/faults", content: str | None = None, kind: str = JSON
) -> tuple[int, object]:
    connection = http.client.HTTPConnection(address, timeout=10)
    connection.request(method, path, content, {"Content-Type": kind})
    answer = connection.getresponse()
    found = answer.status, json.loads(answer.read())
    connection.close()
    return found


def test_faults_are_set_listed_and_removed(broker: Broker) -> None:
    address = broker.admin_address or ""
    given = {"fault": "error", "api": "Produce", "error": "NOT_ENOUGH_REPLICAS", "times": 3}
    assert send_fault(address, "POST", content=json.dumps(given)) == (200, {"id": 1})
    assert send_fault(address, "POST", content='{"fault": "delay", "ms": 5}') == (200, {"id": 2})
    given["times_left"] = given.pop("times")
    listed = [{**given, "id": 1, "hits": 0}, {"id": 2, "fault": "delay", "ms": 5, "hits": 0}]
    assert send_fault(address, "GET") == (200, listed)
    assert send_fault(address, "DELETE", "/test/faults/1") == (200, {"removed": True})
    assert send_fault(address, "DELETE") == (200, {})
    assert send_fault(address, "GET") == (200, [])


@pytest.mark.parametrize(
    ("content", "kind", "fault"),
    [
        ('{"fault": "clear"}', "text/plain", "Content-Type must be application/json"),
        ('{"fault"', JSON, "this is not JSON"),
        ("[" * 60_000, JSON, "this is not JSON"),
        ("[]", JSON, "is a JSON object"),
        (" " * 70_000, JSON, "has 65536 bytes at most"),
        ('{"fault": "explode"}', JSON, "there is no fault 'explode'"),
    ],
)
def test_what_is_no_request_about_faults_is_refused(
    broker: Broker, content: str, kind: str, fault: str
) -> None:
    status, document = send_fault(broker.admin_address or "", "POST", content=content, kind=kind)
    assert status == 400
    assert fault in str(document)


def test_a_broker_that_was_not_started_for_tests_takes_no_faults(tmp_path: Path) -> None:
    process = BrokerProcess(tmp_path / "data", admin_port=0, log_path=tmp_path / "log")
    process.start()
    try:
        for method, content in (("GET", None), ("POST", '{"fault": "full_disk"}'), ("DELETE", None)):
            status, document = send_fault(process.admin_address or "", method, content=content)
            assert status == 403
            assert "--test-faults" in str(document)
    finally:
        process.stop()


def commit_as(broker: Broker, group: str) -> None:
    topic = broker.create_topic()
    host, _, port = broker.bootstrap_servers.rpartition(":")
    part = OffsetCommitRequestPartition(0, 1)
    request = OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic(topic, partitions=[part])])
    with BrokerConnection(host, int(port), timeout_s=10) as client:
        client.ask(FindCoordinatorRequest(coordinator_keys=[group]), FindCoordinatorResponse)
        for _ in range(1000):  # until the coordinator has loaded its partition
            answer = client.ask(request, OffsetCommitResponse, 9)
            if not answer.topics[0].partitions[0].error_code:
                return
    raise AssertionError("the coordinator does not take the commit")


def test_what_clients_are_called_is_ascii_in_its_documents(broker: Broker) -> None:
    hostile = "g\x1b[2J\x7f\x9b\u202e"
    commit_as(broker, hostile)
    status, text = ask(broker, "/describe/groups", "localhost")
    assert status == 200
    assert text.isascii()
    assert text.isprintable()
    assert hostile in {row["group"] for row in json.loads(text)}
