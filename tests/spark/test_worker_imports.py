"""A worker's importers of zips that stay as they are, and those of others."""

import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile
from zipimport import zipimporter

import pytest

from odradek.spark.worker_imports import read_zips_once


def zipped(file: Path, answer: int) -> Path:
    with ZipFile(file, "w") as zip_file:
        zip_file.writestr("given/__init__.py", "")
        zip_file.writestr(f"given/answer_{answer}.py", f"ANSWER = {answer}")
    return file


def finds(importer: Any, name: str) -> bool:
    return importer.find_spec(name) is not None


@pytest.mark.parametrize(
    "name", ["pyspark.zip", "py4j-0.10.9.9-src.zip", "spark-core_2.13-4.1.4.jar", "odradek-0123abcd.zip"]
)
def test_a_zip_of_spark_or_ours_is_read_once(tmp_path: Path, name: str) -> None:
    file = zipped(tmp_path / name, 1)
    path = f"{file}/given"
    importers = {path: zipimporter(path)}

    read_zips_once(importers)
    zipped(file, 2)
    importers[path].invalidate_caches()

    assert finds(importers[path], "answer_1")
    assert not finds(importers[path], "answer_2")


def test_a_zip_of_the_users_is_looked_at_anew(tmp_path: Path) -> None:
    file = zipped(tmp_path / "mine.zip", 1)
    path = f"{file}/given"
    importers: dict[str, Any] = {path: zipimporter(path), str(tmp_path): None}

    read_zips_once(importers)
    zipped(file, 2)
    importers[path].invalidate_caches()

    assert finds(importers[path], "answer_2")
    assert importers[str(tmp_path)] is None


def test_modules_are_still_imported_from_them(tmp_path: Path) -> None:
    file = zipped(tmp_path / "pyspark.zip", 1)
    script = (
        "import sys, importlib; sys.path.insert(0, sys.argv[1]); import given\n"
        "from odradek.spark.worker_imports import read_zips_once\n"
        "read_zips_once(); read_zips_once(); importlib.invalidate_caches()\n"
        "print(importlib.import_module('given.answer_1').ANSWER)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(file)], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "1"), done.stderr
