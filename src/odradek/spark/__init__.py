"""The PySpark source, sink and pipelines."""
