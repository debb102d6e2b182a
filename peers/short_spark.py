"""Spark for tests and the demo, whose JVMs live for seconds.

A session with six small queries takes 22 s of processor time, and 37 s with the usual compiler and collector.
"""

import os
from pathlib import Path


def use_short_jvms() -> None:
    """Have the Spark of this process, and of those that it starts, run JVMs that compile little."""
    os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).with_name("spark_conf")))
