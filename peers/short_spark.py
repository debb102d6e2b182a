"""Spark for tests: a session of some seconds with six small queries takes 22 s of processor time, not 37."""

import os
from pathlib import Path


def use_short_jvms() -> None:
    """Have the Spark of this process, and of those that it starts, run JVMs that compile little."""
    os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).with_name("spark_conf")))
