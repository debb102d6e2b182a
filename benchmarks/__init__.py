"""Measurements of Odradek: `macro` against Apache Kafka on this machine, `micro` of single parts."""
