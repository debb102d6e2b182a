import sys
from pathlib import Path

import pytest

from odradek.server.process import boot_id as module
from odradek.server.process.boot_id import boot_id


def test_a_machine_has_one_boot_id_as_long_as_it_runs() -> None:
    """R15"""
    assert boot_id() == boot_id() != ""


@pytest.mark.skipif(sys.platform == "darwin", reason="asks the kernel by another way there")
def test_where_there_is_none_it_is_empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """R15: then nobody is trusted for it."""
    monkeypatch.setattr(module, "_LINUX", tmp_path / "missing")
    assert boot_id() == ""
