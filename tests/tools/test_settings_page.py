from pathlib import Path

import pytest
from tools.settings_page import PAGE, faults, faults_in_operations

from odradek.base.settings import BROKER_SETTINGS, GROUP_SETTINGS, TOPIC_SETTINGS
from odradek.base.settings.broker.without_effect import settings_without_effect
from tools import settings_page


def test_the_pages_say_what_the_settings_are() -> None:
    assert list(faults()) == []


def test_every_setting_is_on_the_page() -> None:
    text = PAGE.read_text()
    for name in (*BROKER_SETTINGS, *TOPIC_SETTINGS, *GROUP_SETTINGS, *settings_without_effect()):
        assert f"`{name}`" in text, name


def test_a_row_that_is_missing_wrong_or_of_nothing_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "operations.md"
    page.write_text("| `odradek.admin.port` | 7 | a port |\n| `odradek.no.such` | - | nothing |\n")
    monkeypatch.setattr(settings_page, "OPERATIONS", page)
    found = set(faults_in_operations())
    assert "docs/operations.md says that odradek.admin.port is 7 by default, not -1" in found
    assert "docs/operations.md has a row for odradek.no.such, which is no setting" in found
    assert "docs/operations.md has no row for odradek.metadata.file" in found
