"""Spark sessions of the suite: all of them have the same jars.

A JVM keeps the class path that its first session had, and the sessions of one run share a JVM.
"""

import enum
import functools
from collections.abc import Iterator

import pytest
from peers import JarsMissing as PeerJarsMissing
from peers.spark_connector import connector_jars
from pyspark.sql import SparkSession

from odradek.spark.lake_jars import JarsMissing
from odradek.spark.pipeline.formats import LAKES, session_settings
from odradek.spark.session import spark_session


class Jars(enum.Enum):
    """What a session has beside Spark, where it can be had."""

    LAKES = "the formats of tables"
    CONNECTOR = "Spark's own Kafka connector"


def session_with(*needed: Jars) -> Iterator[SparkSession]:
    """A session, for a fixture; skips tests where the jars that they need cannot be had."""
    settings, missing = _settings()
    for one in needed:
        if one in missing:
            pytest.skip(missing[one])
    session = spark_session("compat", settings=settings)
    yield session
    session.stop()


@functools.cache
def _settings() -> tuple[dict[str, str], dict[Jars, str]]:
    """The settings of each session, and why jars are missing."""
    settings: dict[str, str] = {}
    missing: dict[Jars, str] = {}
    try:
        settings |= session_settings(tuple(LAKES))
    except JarsMissing as error:
        missing[Jars.LAKES] = str(error)
    try:
        jars = [*filter(None, [settings.get("spark.jars")]), *map(str, connector_jars())]
        settings["spark.jars"] = ",".join(jars)
    except PeerJarsMissing as error:
        missing[Jars.CONNECTOR] = str(error)
    return settings, missing
