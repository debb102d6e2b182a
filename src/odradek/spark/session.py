"""A Spark session that is ready to read from a broker, here or on a cluster."""

import os
import sys
from pathlib import Path

from odradek.base.errors import OdradekError
from odradek.base.extras import missing_extra

if _missing := missing_extra("spark", "odradek.spark"):
    raise ModuleNotFoundError(_missing, name="pyspark")

from pyspark.sql import SparkSession

from odradek.spark.java_home import find_java_home
from odradek.spark.master import check_master, cores_of, is_local
from odradek.spark.segment_source import SegmentsDataSource
from odradek.spark.shipping import package_zip
from odradek.spark.source import OdradekDataSource

__all__ = ["spark_session"]

# What Spark says of a context whose cluster has given up before it was made.
_STOPPED = "Cannot call methods on a stopped SparkContext"


def cache_directory() -> Path:
    """The directory for files that can be created again: ODRADEK_CACHE, else the user's cache directory."""
    given = os.environ.get("ODRADEK_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "odradek"


def spark_session(
    application: str, *, cores: int = 2, master: str = "", settings: dict[str, str] | None = None
) -> SparkSession:
    """A session with the sources of this package registered: a local one, or one on a cluster.

    `master` is one of `odradek.spark.master.FORMS`; without it Spark runs here, on `cores` cores. `settings`
    are Spark settings and override ours. Executors of a cluster get the package as a zip.

    Raises SettingError for a master that is none, OdradekError if Spark cannot start there.
    """
    given = settings or {}
    master = check_master(master or f"local[{cores}]", "master")
    os.environ["JAVA_HOME"] = str(find_java_home(cache_directory()))
    os.environ["PYSPARK_PYTHON"] = _python_of_tasks(master, given)
    quiet = Path(__file__).with_name("log4j2.properties").as_uri()
    builder = (
        SparkSession.builder.appName(application)
        .master(master)
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={quiet}")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
    )
    if is_local(master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = (
            builder.config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", str(cores_of(master)))
        )
    for name, value in given.items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:  # py4j's, and what it makes of Spark's
        raise OdradekError(f"Spark cannot start with the master {master}: {_reason(str(error))}") from error
    if not is_local(master):
        session.sparkContext.addPyFile(str(package_zip(cache_directory())))
    session.dataSource.register(OdradekDataSource)
    session.dataSource.register(SegmentsDataSource)
    return session


def _python_of_tasks(master: str, settings: dict[str, str]) -> str:
    """The interpreter of Spark's workers: here that of this process, on a cluster one that is there."""
    if given := settings.get("spark.pyspark.python"):
        return given
    if is_local(master):
        return sys.executable
    # The driver's JVM runs it, too, to plan what is read, and this interpreter is what it shall find.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return os.environ.get("PYSPARK_PYTHON") or "python3"


def _reason(text: str) -> str:
    """The first exception of Java's in what py4j says, without its class."""
    if _STOPPED in text:
        return "it does not answer, or has refused the application"
    for line in text.splitlines():
        name, found, sentence = line.strip().removeprefix(": ").partition(": ")
        if found and sentence and name.endswith(("Exception", "Error")):
            return sentence
    return text.strip().splitlines()[0] if text.strip() else "Spark gives no reason"
