"""What real Kafka clients and tools do to a broker: the judge of compatibility, judged by Apache Kafka."""
