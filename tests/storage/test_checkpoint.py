from pathlib import Path

import pytest

from odradek.storage import file_names
from odradek.storage.checkpoint import read_offsets
from odradek.storage.os_files import OsFileSystem


@pytest.mark.parametrize(
    "name",
    [
        file_names.CLEANED_OFFSETS,
        file_names.RECOVERY_POINTS,
        file_names.LOG_START_OFFSETS,
        file_names.HIGH_WATERMARKS,
    ],
)
def test_a_checkpoint_as_kafka_makes_it_has_no_byte_and_is_not_damaged(name: str, tmp_path: Path) -> None:
    disk = OsFileSystem(read_only=True)
    file = tmp_path / name
    file.touch()
    assert read_offsets(disk, str(file)) == ({}, None)
    file.write_bytes(b"0")
    _, damage = read_offsets(disk, str(file))
    assert damage is not None
    assert damage.reason == "it has no header"
