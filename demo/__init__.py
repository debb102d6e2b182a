"""Real flights through a Kafka-compatible broker into a Spark table, on a machine that has only Python."""
