"""Brokers that run without a file that names their process."""

import os
import sys
from pathlib import Path

import pytest

from odradek.base.errors import DataDirectoryError
from odradek.server.process.log_lines import LogOptions
from odradek.server.supervisor import lost_brokers
from odradek.server.supervisor.broker_settings import ClusterSettings, cluster_settings
from odradek.server.supervisor.lost_brokers import lock_holder, refuse_lost_brokers
from odradek.server.supervisor.preparation import BrokerOptions, prepare
from odradek.storage.os_files import OsFileSystem

FILES = OsFileSystem()


def cluster(directory: Path) -> ClusterSettings:
    return cluster_settings({"log.dirs": str(directory), "listeners": "PLAINTEXT://127.0.0.1:0"}, 3)


def lock_of(directory: Path, broker_id: int) -> Path:
    path = directory / f"broker-{broker_id}" / ".lock"
    path.parent.mkdir()
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say who holds a lock")
def test_a_broker_that_runs_is_named_with_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = lock_of(tmp_path, 2)
    lock = FILES.lock(str(path))
    assert lock is not None
    file = path.stat()
    place = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    locks = tmp_path / "locks"
    locks.write_text(
        f"1: OFDLCK ADVISORY  WRITE -1 {place} 0 EOF\n"
        f"2: FLOCK  ADVISORY  WRITE 12 00:00:1 0 EOF\n"
        f"3: FLOCK  ADVISORY  WRITE 4711 {place} 0 EOF\n"
    )
    monkeypatch.setattr(lost_brokers, "_LOCKS", locks)
    with pytest.raises(DataDirectoryError) as refused:
        refuse_lost_brokers(FILES, cluster(tmp_path), ())
    assert str(refused.value) == (
        "broker 2 still runs (process 4711), and no file of this cluster says with which options:"
        " end it before you start the cluster"
    )
    refuse_lost_brokers(FILES, cluster(tmp_path), {2})
    lock.release()
    refuse_lost_brokers(FILES, cluster(tmp_path), ())
    assert os.listdir(path.parent) == [".lock"]


def test_the_process_is_left_out_where_nobody_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lost_brokers, "_LOCKS", tmp_path / "no-such-file")
    lock = FILES.lock(str(lock_of(tmp_path, 1)))
    assert lock is not None
    assert lock_holder(tmp_path / "broker-1" / ".lock") is None
    with pytest.raises(DataDirectoryError, match=r"^broker 1 still runs, and no file of this cluster says"):
        prepare(cluster(tmp_path), BrokerOptions(LogOptions()))
    assert os.listdir(tmp_path) == ["broker-1"], "nothing was changed"
    lock.release()
