"""Which directories are a cluster's, and which are refused with nothing changed."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from odradek.base.chance import SeededChance
from odradek.base.errors import DataDirectoryError
from odradek.base.execution import exhaust
from odradek.base.settings import BrokerSettings
from odradek.metadata.embedded import EmbeddedEngine
from odradek.metadata.startup import found_cluster
from odradek.server.process.embedded_store import open_embedded_engine
from odradek.server.supervisor.broker_settings import ClusterSettings, cluster_settings
from odradek.server.supervisor.cluster_file import KeptCluster, write_cluster_file
from odradek.server.supervisor.directories import (
    check_directories,
    is_private,
    lock_cluster,
    socket_directory,
)
from odradek.storage.meta_properties import write_meta_properties
from odradek.storage.os_files import OsFileSystem

FILES = OsFileSystem()


def of(*log_dirs: Path, count: int = 3) -> ClusterSettings:
    return cluster_settings({"log.dirs": ",".join(map(str, log_dirs))}, count)


def mark(directory: Path, broker_id: int, cluster_id: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    write_meta_properties(
        FILES, str(directory), cluster_id=cluster_id, node_id=broker_id, directory_id=uuid4()
    )


def store_of(directory: Path) -> str:
    """Makes the metadata file of a cluster; returns the cluster's id."""
    engine = EmbeddedEngine(directory / "metadata.db")
    session = engine.open_session()
    found = exhaust(found_cluster(SeededChance(1)), lambda operation: engine.apply(session, operation).result)
    engine.close()
    return found


def refusal(settings: ClusterSettings) -> str:
    before = sorted(os.walk(settings.log_dirs[0]))
    with pytest.raises(DataDirectoryError) as refused:
        check_directories(FILES, settings)
    assert sorted(os.walk(settings.log_dirs[0])) == before, "nothing was changed"
    return str(refused.value)


def test_a_file_in_the_place_of_a_directory_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.touch()
    assert refusal(of(file)) == f"cannot use the directory {file}: not a directory"


def test_a_new_directory_is_accepted_and_not_made(tmp_path: Path) -> None:
    assert check_directories(FILES, of(tmp_path / "new")) is None
    assert not (tmp_path / "new").exists()


def test_a_cluster_is_known_again(tmp_path: Path) -> None:
    kept = KeptCluster(3, "/nowhere", {1: {"PLAINTEXT": 9092}})
    write_cluster_file(FILES, str(tmp_path), kept)
    cluster_id = store_of(tmp_path)
    for broker_id in (1, 2, 3):
        mark(tmp_path / f"broker-{broker_id}", broker_id, cluster_id)
    assert check_directories(FILES, of(tmp_path)) == kept
    assert check_directories(FILES, of(tmp_path, count=4)) == kept, "more brokers are welcome"


def test_the_logs_of_a_single_broker_are_refused(tmp_path: Path) -> None:
    mark(tmp_path, 0, "c")
    assert refusal(of(tmp_path)) == (
        f"{tmp_path} holds the logs of broker 0 of cluster c, which is alone there: --brokers 3 needs a"
        " directory of its own"
    )


def test_a_single_broker_is_refused_the_directory_of_a_cluster(tmp_path: Path) -> None:
    write_cluster_file(FILES, str(tmp_path), KeptCluster(3, "/nowhere", {}))
    with pytest.raises(DataDirectoryError, match="holds a cluster of several brokers: start it with"):
        open_embedded_engine(BrokerSettings(log_dirs=(str(tmp_path),)))
    assert [path.name for path in tmp_path.iterdir()] == ["cluster.json"]


def test_fewer_brokers_than_there_were_are_refused(tmp_path: Path) -> None:
    write_cluster_file(FILES, str(tmp_path), KeptCluster(4, "/nowhere", {}))
    assert refusal(of(tmp_path, count=2)) == (
        f"{tmp_path} holds a cluster of 4 brokers, and --brokers 2 leaves out broker 3 and broker 4: start it"
        " with --brokers 4; a broker that was drained stays, without replicas"
    )


def test_without_its_file_a_cluster_has_the_brokers_that_have_directories(tmp_path: Path) -> None:
    cluster_id = store_of(tmp_path)
    for broker_id in (1, 2, 3):
        mark(tmp_path / f"broker-{broker_id}", broker_id, cluster_id)
    assert check_directories(FILES, of(tmp_path)) is None
    assert "--brokers 2 leaves out broker 3: start it with --brokers 3" in refusal(of(tmp_path, count=2))


def test_brokers_of_two_clusters_are_refused(tmp_path: Path) -> None:
    mark(tmp_path / "broker-1", 1, "one")
    mark(tmp_path / "broker-2", 2, "two")
    assert refusal(of(tmp_path)) == (
        f"{tmp_path}/broker-1 belongs to cluster one, {tmp_path}/broker-2 to cluster two"
    )


def test_brokers_without_their_metadata_file_are_refused(tmp_path: Path) -> None:
    mark(tmp_path / "broker-1", 1, "one")
    assert refusal(of(tmp_path)) == (
        f"{tmp_path}/broker-1 belongs to cluster one, whose metadata file {tmp_path}/metadata.db does not"
        " exist"
    )


def test_the_metadata_file_of_another_cluster_is_refused(tmp_path: Path) -> None:
    mark(tmp_path / "broker-1", 1, "one")
    named = store_of(tmp_path)
    assert refusal(of(tmp_path)).endswith(f"the metadata file {tmp_path}/metadata.db to cluster {named}")


def test_the_directory_of_another_broker_is_refused(tmp_path: Path) -> None:
    mark(tmp_path / "broker-1", 2, "one")
    assert refusal(of(tmp_path)) == f"{tmp_path}/broker-1 belongs to broker 2, this is broker 1"


def test_the_directory_with_the_file_comes_first(tmp_path: Path) -> None:
    write_cluster_file(FILES, str(tmp_path), KeptCluster(3, "/nowhere", {}))
    settings = of(tmp_path / "other", tmp_path)
    assert refusal(settings) == f"{tmp_path} holds the file of this cluster: name it first in log.dirs"


def test_one_supervisor_at_a_time(tmp_path: Path) -> None:
    lock = lock_cluster(FILES, str(tmp_path / "new"))
    with pytest.raises(DataDirectoryError, match=r"new is in use: another process serves it$"):
        lock_cluster(FILES, str(tmp_path / "new"))
    lock.release()
    lock_cluster(FILES, str(tmp_path / "new")).release()


# --- the directory of the sockets


@pytest.fixture
def parent() -> Iterator[Path]:
    """A directory with a path that is short enough for sockets, whatever the tests' own directories are."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        yield Path(directory)


def test_it_is_private_and_used_again(parent: Path) -> None:
    made = socket_directory(None, lambda: (str(parent),))
    assert is_private(made.path)
    assert Path(made.path).parent == parent
    made.close()
    kept = KeptCluster(3, made.path, {})
    again = socket_directory(kept, lambda: (str(parent),))
    assert again.path == made.path
    again.remove()
    assert list(parent.iterdir()) == []
    another = socket_directory(kept, lambda: (str(parent),))
    assert another.path != made.path
    another.remove()


def test_one_that_others_may_enter_or_that_is_a_link_is_not_used_again(parent: Path) -> None:
    opened, target, link = (parent / name for name in ("opened", "target", "link"))
    opened.mkdir(mode=0o755)
    target.mkdir(mode=0o700)
    link.symlink_to(target)
    for path in (opened, link):
        made = socket_directory(KeptCluster(3, str(path), {}), lambda: (str(parent),))
        assert made.path != str(path)
        made.remove()


def test_where_the_path_would_be_too_long_the_next_directory_is_used(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    short = Path("/tmp")
    made = socket_directory(None, lambda: (str(deep), str(short)))
    assert Path(made.path).parent == short
    made.remove()
    with pytest.raises(DataDirectoryError, match=r"set TMPDIR$"):
        socket_directory(None, lambda: (str(deep),))
