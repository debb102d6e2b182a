"""Compaction beside the broker: what is cleaned next, and the process that cleans it."""
