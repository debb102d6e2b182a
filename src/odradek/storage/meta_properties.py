"""`meta.properties`: which broker of which cluster a log directory belongs to.

    version=1
    node.id=0
    cluster.id=9mV0tsdqSpyTkIyXSMUJOw
    directory.id=Jd2L0bAXQv6bFAkBFDBfBQ

Kafka wrote `version=0` and `broker.id` before it had directory ids; both are read, the newer is written.
"""

from uuid import UUID

from odradek.base.errors import DataDirectoryError
from odradek.base.ids import BrokerId
from odradek.base.uuids import parse_uuid, render_uuid
from odradek.base.values import value
from odradek.storage import file_names
from odradek.storage.files import FileSystem, write_atomically


@value
class MetaProperties:
    """The fields of the file; None for missing ones."""

    cluster_id: str | None = None
    node_id: BrokerId | None = None
    directory_id: UUID | None = None


def read_meta_properties(file_system: FileSystem, directory: str) -> MetaProperties | None:
    """Returns what `meta.properties` holds, None without the file. Raises DataDirectoryError if invalid."""
    path = f"{directory}/{file_names.META_PROPERTIES}"
    if not file_system.exists(path):
        return None
    fields = {}
    for line in file_system.read(path).decode("utf-8", "replace").splitlines():
        name, separator, value = line.partition("=")
        if separator and not name.lstrip().startswith("#"):
            fields[name.strip()] = value.strip()
    if fields.get("version") not in ("0", "1"):
        raise DataDirectoryError(f"{path} has version '{fields.get('version', '')}', only 0 and 1 are known")
    node_id = fields.get("node.id", fields.get("broker.id", ""))
    if node_id and not node_id.isdigit():
        raise DataDirectoryError(f"{path} names the broker '{node_id}', which is no number")
    return MetaProperties(
        fields.get("cluster.id") or None,
        int(node_id) if node_id else None,
        parse_uuid(fields.get("directory.id", "")),
    )


def write_meta_properties(
    file_system: FileSystem, directory: str, *, cluster_id: str, node_id: BrokerId, directory_id: UUID
) -> None:
    """Replace the file, and return once it is on disk."""
    lines = (
        "version=1",
        f"node.id={node_id}",
        f"cluster.id={cluster_id}",
        f"directory.id={render_uuid(directory_id)}",
        "",
    )
    path = f"{directory}/{file_names.META_PROPERTIES}"
    write_atomically(file_system, path, "\n".join(lines).encode(), durable=True)


def fault_in(
    found: MetaProperties | None, directory: str, *, cluster_id: str, node_id: BrokerId
) -> str | None:
    """Why a broker of that cluster and id must not use the directory, in one sentence; None if it may."""
    if found is None:
        return None
    if found.cluster_id is not None and found.cluster_id != cluster_id:
        return f"{directory} belongs to cluster {found.cluster_id}, this broker to cluster {cluster_id}"
    if found.node_id is not None and found.node_id != node_id:
        return f"{directory} belongs to broker {found.node_id}, this is broker {node_id}"
    return None
