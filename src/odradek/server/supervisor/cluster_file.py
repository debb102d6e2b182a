"""What a cluster keeps from one start to the next: `cluster.json`, in the first of its directories.

    {"version": 1, "brokers": 3, "sockets": "/tmp/odradek-4f1c09d2a7be",
     "ports": {"1": {"PLAINTEXT": 9092, "admin": 8080}, "2": {"PLAINTEXT": 9093, "admin": 8081}, ...}}

Invariant: the file is replaced as a whole and is on disk before the first broker is started.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from odradek.base.errors import DataDirectoryError
from odradek.base.ids import BrokerId
from odradek.base.system_errors import reason_of
from odradek.base.values import value
from odradek.server.process.embedded_store import CLUSTER_FILE
from odradek.server.supervisor.broker_settings import PORT_MAX
from odradek.storage.files import FileSystem, write_atomically

VERSION: Final = 1
BROKERS_MAX: Final = 9_999
"""The paths of the sockets have room for four digits."""


@value
class KeptCluster:
    """What the file holds."""

    brokers: int
    """How many brokers the cluster has: the highest number so far."""
    sockets: str
    """The directory of its sockets; it may be gone."""
    ports: Mapping[BrokerId, Mapping[str, int]]
    """The ports that each broker had last, by listener."""


def read_cluster_file(file_system: FileSystem, directory: str) -> KeptCluster | None:
    """Returns what the file holds, None without the file. Raises DataDirectoryError if it is damaged."""
    path = f"{directory}/{CLUSTER_FILE}"
    try:
        if not file_system.exists(path):
            return None
        content = file_system.read(path)
    except OSError as error:
        raise DataDirectoryError(f"cannot read {path}: {reason_of(error)}") from None
    try:
        document = json.loads(content)
        version = document["version"]
        found = KeptCluster(int(document["brokers"]), str(document["sockets"]), _ports(document["ports"]))
        _check(found)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataDirectoryError(f"{path} is damaged: restore it, or remove it and have new ports") from None
    if version != VERSION:
        raise DataDirectoryError(f"{path} has version {version}, only {VERSION} is known")
    return found


def write_cluster_file(file_system: FileSystem, directory: str, cluster: KeptCluster) -> None:
    """Replace the file, and return once it is on disk. Raises OSError."""
    document = {
        "version": VERSION,
        "brokers": cluster.brokers,
        "sockets": cluster.sockets,
        "ports": {str(broker_id): dict(ports) for broker_id, ports in cluster.ports.items()},
    }
    content = json.dumps(document, indent=1).encode() + b"\n"
    write_atomically(file_system, f"{directory}/{CLUSTER_FILE}", content, durable=True)


def _check(found: KeptCluster) -> None:
    """Raises ValueError for what no cluster has; a file that was changed by hand may say anything."""
    if not 1 <= found.brokers <= BROKERS_MAX or "\0" in found.sockets:
        raise ValueError(found)
    if not all(0 < port <= PORT_MAX for ports in found.ports.values() for port in ports.values()):
        raise ValueError(found)


def _ports(document: Any) -> dict[BrokerId, dict[str, int]]:  # noqa: ANN401 - of JSON
    return {
        int(broker_id): {str(name): int(port) for name, port in ports.items()}
        for broker_id, ports in document.items()
    }
