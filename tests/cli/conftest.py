"""Directories as Apache Kafka leaves them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.kafka_directory import KafkaDirectory


@pytest.fixture
def kafka(tmp_path: Path) -> KafkaDirectory:
    """One with a topic of two partitions, whose metadata log is still to be written."""
    return KafkaDirectory(tmp_path / "kafka")


@pytest.fixture
def kafka_directory_at() -> Callable[[Path], KafkaDirectory]:
    """Make one, with its metadata log, at a path."""

    def make(path: Path) -> KafkaDirectory:
        made = KafkaDirectory(path)
        made.write()
        return made

    return make
