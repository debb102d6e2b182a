"""Tests of compatibility with real Kafka clients and tools; Apache Kafka must pass them too."""
