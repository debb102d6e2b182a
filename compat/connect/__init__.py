"""Kafka Connect and MirrorMaker 2: workers that share connectors as a group and keep all state in topics."""

from compat.connect.mirror_maker import MirrorMaker
from compat.connect.worker import Worker

__all__ = ["MirrorMaker", "Worker"]
