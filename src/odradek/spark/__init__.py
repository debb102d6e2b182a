"""The PySpark data sources: topics read and written in batches and streams, and segment files read."""
