"""What `zookeeper.connect` names."""

import pytest

from odradek.base.errors import SettingError
from odradek.metadata.zookeeper.ensemble import Ensemble, parse_ensemble


@pytest.mark.parametrize(
    ("text", "servers", "chroot"),
    [
        ("zoo", (("zoo", 2181),), ""),
        ("a:1, b ,[::1]:3", (("a", 1), ("b", 2181), ("::1", 3)), ""),
        ("zoo:2181/", (("zoo", 2181),), ""),
        (" zoo:2181/prod/logs/ ", (("zoo", 2181),), "/prod/logs"),
    ],
)
def test_servers_and_a_path(text: str, servers: tuple[tuple[str, int], ...], chroot: str) -> None:
    assert parse_ensemble(text) == Ensemble(servers, chroot)


@pytest.mark.parametrize(
    "text", ["", "a b", "a:b", "a:0", "a:70000", "a,,b", "user@a", "a//b", "a/../b", "a/" + "x" * 200]
)
def test_what_names_no_ensemble_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match=r"^zookeeper\.connect="):
        parse_ensemble(text)


def test_it_is_told_as_it_is_written() -> None:
    ensemble = parse_ensemble("a:1,[::1]/kafka")
    assert str(ensemble) == "a:1,[::1]:2181/kafka"
    assert str(ensemble.without_chroot) == "a:1,[::1]:2181"
