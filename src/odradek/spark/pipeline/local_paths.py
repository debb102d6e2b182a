"""Local paths as Spark takes them."""

from pathlib import Path


def spark_path(path: Path) -> str:
    """A local path for Spark and Hadoop, whatever the default file system is.

    It is no URI: Hadoop decodes nothing, so that `a b` must stay `a b`, and not become `a%20b`.
    """
    return f"file://{path.absolute()}"
