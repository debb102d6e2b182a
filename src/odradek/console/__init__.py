"""Holds the place of the web console, which is not built yet."""
