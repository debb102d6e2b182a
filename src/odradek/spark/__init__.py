"""The PySpark data source `odradek`: batch reads of topics."""
