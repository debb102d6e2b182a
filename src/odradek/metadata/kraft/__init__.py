"""KRaft, the metadata of Apache Kafka, as far as it is read: its records and what they add up to."""
