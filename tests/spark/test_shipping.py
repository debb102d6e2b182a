"""The zip for executors: always the same bytes, with all that tasks import."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import odradek
from odradek.base.errors import OdradekError
from odradek.spark.shipping import package_zip

TASK_MODULES = (
    "odradek.spark.source",
    "odradek.spark.segment_source",
    "odradek.spark.pipeline.decoded_source",
    "odradek.spark.pipeline.spark_job",
    "odradek.spark.pipeline.staged_source",
    "odradek.spark.pipeline.executor_look",
)


def test_it_is_made_once_and_always_the_same(tmp_path: Path) -> None:
    first = package_zip(tmp_path / "a")
    made = first.stat().st_mtime_ns
    assert package_zip(tmp_path / "a") == first
    assert first.stat().st_mtime_ns == made
    second = package_zip(tmp_path / "b")
    assert (second.name, second.read_bytes()) == (first.name, first.read_bytes())
    assert [one.name for one in (tmp_path / "a" / "executors").iterdir()] == [first.name]


def test_it_has_python_files_alone(tmp_path: Path) -> None:
    names = zipfile.ZipFile(package_zip(tmp_path)).namelist()
    assert names == list(dict.fromkeys(names))
    assert all(name.startswith("odradek/") and name.endswith(".py") for name in names)
    rooms = {name.split("/")[1] for name in names if name.count("/") > 1}
    assert rooms.isdisjoint({"cli", "server", "testing", "coordinator", "metadata"})


def test_what_tasks_import_is_in_it(tmp_path: Path) -> None:
    """An interpreter without this package finds all of it there, and without its C modules."""
    pytest.importorskip("pyspark")
    imports = "\n".join(f"import {one}" for one in TASK_MODULES)
    script = f"""
import sys
source = {str(Path(odradek.__file__).parent.parent)!r}
sys.path[:] = [one for one in sys.path if one != source]
for name in ("crc32c", "cramjam", "re2", "structlog", "uvloop", "fastavro"):
    sys.modules[name] = None
{imports}
import odradek
assert ".zip" in odradek.__file__, odradek.__file__
"""
    environment = os.environ | {"PYTHONPATH": str(package_zip(tmp_path))}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        OdradekError, match=r"the package for executors cannot be kept in .*set ODRADEK_CACHE"
    ):
        package_zip(tmp_path / "file")
