"""Programs of the clients' pages, and one that uses what is typed, pass the strictest checks of mypy."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, Runner, blocks_run_by

pytestmark = pytest.mark.slow

PROGRAM = """
import json
from typing import Any, assert_type

from odradek import Admin, Consumer, ConsumerRecord, Delivery, Producer
from odradek.client.core.admin.topics import TopicDescription


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def of_bytes(consumer: Consumer) -> ConsumerRecord:
    return consumer.poll()[0]


with Consumer("orders", group_id="g", max_poll_records=5, auto_offset_reset="earliest") as plain:
    assert_type(plain.poll(1), list[ConsumerRecord[bytes, bytes]])
    assert_type(of_bytes(plain).value, bytes | None)
with Consumer("orders", group_id="g", key_deserializer=bytes.decode, value_deserializer=json.loads) as made:
    for record in made:
        assert_type(record.key, str | None)
        assert_type(record.value, Any | None)
with Producer("a:1", key_serializer=str.encode, value_serializer=as_json, linger_ms=5) as producer:
    assert_type(producer, Producer[str, Any])
    assert_type(producer.send("orders", {"lamps": 2}, key="k"), Delivery)
    producer.send("orders", 5, key=b"k")  # refused: the key
with Producer("a:1", partitioner=lambda key, every, available: every[0]) as producer_of_bytes:
    producer_of_bytes.send("orders", "text")  # refused: the value
with Admin("a:1", request_timeout_ms=5) as admin:
    assert_type(admin.list_topics(timeout=5), list[str])
    assert_type(admin.describe_topics(["orders"]), list[TopicDescription])
Consumer(auto_offset_resett="earliest")  # refused: the name
Consumer(max_poll_records="many")  # refused: the type
of_bytes(made)  # refused: the key
"""


def checked(directory: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Check all programs of a directory."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--scripts-are-modules", *more]
    programs = sorted(str(path) for path in directory.glob("*.py"))
    return subprocess.run(
        [*command, "--cache-dir", str(ROOT / ".mypy_cache" / "pages"), *programs],
        capture_output=True,
        text=True,
        cwd=directory,
        timeout=300,
        check=False,
    )


def test_programs_of_the_pages(tmp_path: Path) -> None:
    blocks = [
        block
        for block in blocks_run_by(Runner.CLIENTS)
        if block.language == "python" and "odradek" in block.text
    ]
    assert len(blocks) > 10
    for number, block in enumerate(blocks):
        text = block.text.replace("async def main():", "async def main() -> None:")
        (tmp_path / f"program_{number}.py").write_text(f"# {block.place}\n{text}")
    done = checked(tmp_path, "--ignore-missing-imports")
    assert done.stdout.startswith("Success"), done.stdout + done.stderr


def test_what_types_say(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = checked(tmp_path)
    found = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    refused = {at for at, line in enumerate(PROGRAM.splitlines(), 1) if "# refused" in line}
    assert found == refused, done.stdout + done.stderr
