"""`partition.metadata`: the id of the topic that a log belongs to, since names may be reused (KIP-516).

version: 0
topic_id: kLtQrzhAQF2QbFeMyfaFQg
"""

from uuid import UUID

from odradek.base.uuids import parse_uuid, render_uuid
from odradek.storage.checkpoint import Damage
from odradek.storage.files import FileSystem, write_atomically


def read_topic_id(file_system: FileSystem, path: str) -> tuple[UUID | None, Damage | None]:
    """The topic's id; None when the file is missing or damaged, the latter with its reason."""
    if not file_system.exists(path):
        return None, None
    fields = {}
    for line in file_system.read(path).decode("ascii", "replace").splitlines():
        name, _, value = line.partition(":")
        fields[name.strip()] = value.strip()
    topic_id = parse_uuid(fields.get("topic_id", ""))
    if fields.get("version") != "0" or topic_id is None:
        return None, Damage(path, "it is no version 0 with a topic id")
    return topic_id, None


def write_topic_id(file_system: FileSystem, path: str, topic_id: UUID) -> None:
    """Replace the file."""
    content = f"version: 0\ntopic_id: {render_uuid(topic_id)}\n"
    write_atomically(file_system, path, content.encode(), durable=False)
