"""Spark imports this module by its name; what it finds there is the source."""

import importlib
import sys

import pytest

pytestmark = pytest.mark.spark


def test_the_default_source_is_the_source() -> None:
    from odradek.spark.source import OdradekDataSource

    assert importlib.import_module("pyspark_odradek").DefaultSource is OdradekDataSource


def test_without_the_extra_it_has_none_and_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "odradek.spark.source", None)
    monkeypatch.delitem(sys.modules, "pyspark_odradek", raising=False)
    try:
        assert not hasattr(importlib.import_module("pyspark_odradek"), "DefaultSource")
    finally:
        sys.modules.pop("pyspark_odradek", None)


def test_segment_files_have_a_module_of_their_own() -> None:
    from odradek.spark.segment_source import SegmentsDataSource

    found = importlib.import_module("pyspark_odradek_segments")
    assert found.DefaultSource is SegmentsDataSource
