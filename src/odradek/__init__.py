"""Odradek: a Kafka-compatible log for Python people."""

__all__ = ["__version__"]

__version__ = "0.1.0"
