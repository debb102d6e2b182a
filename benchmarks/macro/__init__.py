"""Speed and memory of whole brokers, Apache Kafka's and ours, driven by the same clients on one machine."""
