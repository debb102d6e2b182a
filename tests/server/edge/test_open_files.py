import resource
from collections.abc import Iterator

import pytest

from odradek.server.edge.open_files import admin_connections_affordable, connections_affordable, raise_limit


@pytest.fixture(autouse=True)
def limits() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_connections_get_half_of_the_open_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, most))
    assert connections_affordable() + admin_connections_affordable() == 150
    assert admin_connections_affordable() == 9


def test_the_admin_listener_needs_few_however_many_there_are() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(20_000, most), most))
    assert admin_connections_affordable() == 64


def test_the_limit_is_raised_to_what_the_system_allows() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, most))
    raise_limit()
    limit, still_most = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert still_most == most
    assert limit > 300
