"""Odradek: a Kafka-compatible log for Python people."""

__version__ = "0.1.0"
