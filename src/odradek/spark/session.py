"""A Spark session that is ready to read from a broker, on any machine that has this package."""

import os
import sys
from pathlib import Path

from odradek.base.extras import missing_extra

if _missing := missing_extra("spark", "odradek.spark"):
    raise ModuleNotFoundError(_missing, name="pyspark")

from pyspark.sql import SparkSession

from odradek.spark.java_home import find_java_home
from odradek.spark.segment_source import SegmentsDataSource
from odradek.spark.source import OdradekDataSource

__all__ = ["spark_session"]


def cache_directory() -> Path:
    """The directory for files that can be created again: ODRADEK_CACHE, else the user's cache directory."""
    given = os.environ.get("ODRADEK_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "odradek"


def spark_session(
    application: str, *, cores: int = 2, settings: dict[str, str] | None = None
) -> SparkSession:
    """A local session with the sources of this package registered.

    `settings` are Spark settings and override ours. Spark's workers must run the interpreter that has this
    package, so PYSPARK_PYTHON is set to it.
    """
    os.environ["JAVA_HOME"] = str(find_java_home(cache_directory()))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    quiet = Path(__file__).with_name("log4j2.properties").as_uri()
    builder = (
        SparkSession.builder.appName(application)
        .master(f"local[{cores}]")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={quiet}")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(cores))
        .config("spark.sql.session.timeZone", "UTC")
    )
    for name, value in (settings or {}).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.dataSource.register(OdradekDataSource)
    session.dataSource.register(SegmentsDataSource)
    return session
