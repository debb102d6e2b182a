from pathlib import Path

import pytest

from odradek.base.errors import DataDirectoryError
from odradek.server.supervisor.cluster_file import KeptCluster, read_cluster_file, write_cluster_file
from odradek.storage.os_files import OsFileSystem

CLUSTER = KeptCluster(2, "/tmp/odradek-1", {1: {"PLAINTEXT": 9092, "admin": 8080}, 2: {"PLAINTEXT": 9093}})


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    files = OsFileSystem()
    assert read_cluster_file(files, str(tmp_path)) is None
    write_cluster_file(files, str(tmp_path), CLUSTER)
    assert read_cluster_file(files, str(tmp_path)) == CLUSTER
    assert [path.name for path in tmp_path.iterdir()] == ["cluster.json"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "cluster.json is damaged"),
        ("[]", "cluster.json is damaged"),
        ('{"version": 1, "brokers": 3, "sockets": "/s", "ports": {"one": {}}}', "cluster.json is damaged"),
        ('{"version": 1, "brokers": 3, "sockets": "/s", "ports": []}', "cluster.json is damaged"),
        ('{"version": 1, "brokers": -3, "sockets": "/s", "ports": {}}', "cluster.json is damaged"),
        ('{"version": 1, "brokers": 1000000000, "sockets": "/s", "ports": {}}', "cluster.json is damaged"),
        ('{"version": 1, "brokers": 3, "sockets": "/\\u0000s", "ports": {}}', "cluster.json is damaged"),
        ('{"version": 1, "brokers": 3, "sockets": "/s", "ports": {"1": {"A": 65536}}}', "json is damaged"),
        ('{"version": 1, "brokers": 3, "sockets": "/s", "ports": {"1": {"A": -1}}}', "json is damaged"),
        ('{"version": 2, "brokers": 3, "sockets": "/s", "ports": {}}', "has version 2, only 1 is known"),
    ],
)
def test_a_damaged_one_is_refused_in_a_sentence(tmp_path: Path, content: str, sentence: str) -> None:
    (tmp_path / "cluster.json").write_text(content)
    with pytest.raises(DataDirectoryError, match=sentence):
        read_cluster_file(OsFileSystem(), str(tmp_path))
