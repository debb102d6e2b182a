"""Brokers that run, although the file that names their process is gone.

A broker holds the lock of its own data directories as long as it lives, also when somebody has removed its
`broker-2.process`. The supervisor cannot go on with such a process, because it does not know with which
options it was started; but it can say so, instead of complaining about the port that the broker has.
"""

import os
from collections.abc import Container
from pathlib import Path
from typing import Final

from odradek.base.errors import DataDirectoryError
from odradek.server.supervisor.broker_settings import ClusterSettings
from odradek.storage import file_names
from odradek.storage.files import FileSystem

_LOCKS: Final = Path("/proc/locks")


def refuse_lost_brokers(file_system: FileSystem, settings: ClusterSettings, found: Container[int]) -> None:
    """Raises DataDirectoryError if a broker that is not `found` holds one of its directories."""
    for broker_id in settings.broker_ids:
        for directory in settings.directories_of(broker_id) if broker_id not in found else ():
            path = f"{directory}/{file_names.LOCK}"
            if not _is_held(file_system, path):
                continue
            pid = lock_holder(Path(path))
            named = "" if pid is None else f" (process {pid})"
            raise DataDirectoryError(
                f"broker {broker_id} still runs{named}, and no file of this cluster says with which options:"
                " end it before you start the cluster"
            )


def _is_held(file_system: FileSystem, path: str) -> bool:
    """Whether a process holds the lock of a directory; a directory without the file has no broker."""
    try:
        if not file_system.exists(path):
            return False
        lock = file_system.lock(path)
    except OSError:
        return False  # the broker reports it when it starts
    if lock is None:
        return True
    lock.release()
    return False


def lock_holder(path: Path) -> int | None:
    """The process that has taken the flock of a file; None where the system does not say it (proc(5))."""
    try:
        file, lines = os.stat(path), _LOCKS.read_text().splitlines()
    except OSError:
        return None
    place = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    for line in lines:
        # 7: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF
        fields = line.split()
        if len(fields) > 5 and fields[1] == "FLOCK" and fields[5] == place and int(fields[4]) > 0:
            return int(fields[4])
    return None
