import pytest

from odradek.net.http_hosts import AllowedHosts


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        (b"localhost", True),
        (b"LocalHost:9080", True),
        (b"localhost.", True),
        (b"127.0.0.1:9080", True),
        (b"[::1]:9080", True),
        (b"broker.example:9080", True),
        (b"10.0.0.5", True),
        (b"10.244.0.17:9080", True),
        (b"[fd00::17]:9080", True),
        (b"0x7f.1", False),
        (b"127.1", False),
        (b"[evil.example]", False),
        (b"[::1", False),
        (b"1.2.3.4.5", False),
        (b"evil.example", False),
        (b"evil.example:9080", False),
        (b"localhost.evil.example", False),
        (b"127.0.0.1.evil.example", False),
        (b"evil.example/localhost", False),
        (b"user@localhost", False),
        (b"", False),
        (b"\xff", False),
    ],
)
def test_a_request_is_answered_if_it_was_sent_to_an_address_or_to_this_machine_by_name(
    host: bytes, allowed: bool
) -> None:
    hosts = AllowedHosts(["Broker.example"])
    assert hosts.allow([(b"accept", b"*/*"), (b"host", host)]) is allowed


def test_one_allowed_name_does_not_excuse_another() -> None:
    assert not AllowedHosts([]).allow([(b"host", b"localhost"), (b"Host", b"evil.example")])


def test_who_names_no_host_is_no_browser() -> None:
    assert AllowedHosts([]).allow([(b"accept", b"*/*")])
