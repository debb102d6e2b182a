"""What `zookeeper.connect` names: the servers of an ensemble, and the node below which a cluster is.

    a:2181,b:2181,[::1]/prod/logs     servers (a, 2181), (b, 2181), (::1, 2181); chroot /prod/logs

The paths of the port are below the chroot: `/brokers/ids` is `/prod/logs/brokers/ids` in ZooKeeper.
"""

from typing import Final
from urllib.parse import urlsplit

from odradek.base.errors import SettingError
from odradek.base.values import value
from odradek.metadata.store import StoreLimits

PORT: Final = 2181
"""ZooKeeper's port where none is named."""

REQUEST_BYTES_MAX: Final = 0xFFFFF
"""What a server takes in one request, if its `jute.maxbuffer` is the default."""

CHROOT_BYTES_MAX: Final = 200
_OPERATIONS_MAX: Final = 2_000
_OPERATION_BYTES: Final = 64
"""More than a write takes beside its path and data."""
_HEAD_BYTES: Final = 4_096
"""More than a request takes beside its writes, with the fence and the path of a node that fills it."""


@value
class Ensemble:
    """Servers in the order in which they were named, each as (host, port), and the chroot ("" for none)."""

    servers: tuple[tuple[str, int], ...]
    chroot: str = ""

    @property
    def limits(self) -> StoreLimits:
        """What fits into one request, whatever writes it holds."""
        head_bytes = _HEAD_BYTES + _OPERATIONS_MAX * (_OPERATION_BYTES + len(self.chroot.encode()))
        bytes_max = REQUEST_BYTES_MAX - head_bytes
        return StoreLimits(bytes_max, _OPERATIONS_MAX, bytes_max)

    @property
    def without_chroot(self) -> "Ensemble":
        """The same servers, at their root."""
        return Ensemble(self.servers)

    def __str__(self) -> str:
        named = (f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.servers)
        return ",".join(named) + self.chroot


def parse_ensemble(text: str) -> Ensemble:
    """Read `zookeeper.connect`. Raises SettingError."""
    hosts, slash, chroot = text.strip().partition("/")
    chroot = (slash + chroot).rstrip("/")
    if "//" in chroot or {".", ".."} & set(chroot.split("/")) or len(chroot.encode()) > CHROOT_BYTES_MAX:
        raise SettingError(f"zookeeper.connect={text}: {chroot} is no path of a node")
    servers = tuple(_server(text, server.strip()) for server in hosts.split(","))
    return Ensemble(servers, chroot)


def _server(text: str, server: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{server}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or "@" in server or len(host.split()) != 1 or port == 0:
        raise SettingError(f"zookeeper.connect={text}: {server!r} is no host:port")
    return host, PORT if port is None else port
