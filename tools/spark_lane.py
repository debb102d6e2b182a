"""`./dev spark VERSION`: the tests of the data source on another PySpark than the one of `constraints.txt`.

PySpark is installed into `build/pyspark-VERSION`, which comes before the environment for the tests and for
the workers of Spark. Pipelines into Delta and Iceberg are left out: each of their jars is for one Spark.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
TESTS: Final = sorted(str(one.relative_to(ROOT)) for one in (ROOT / "tests" / "spark").glob("test_*.py"))


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code of the tests."""
    parser = argparse.ArgumentParser(
        prog="./dev spark", description="The tests of the data source on another PySpark."
    )
    parser.add_argument("version", type=_version, help="PySpark's version, such as 4.2.1")
    given, for_pytest = parser.parse_known_args(arguments)
    place = ROOT / "build" / f"pyspark-{given.version}"
    if not (place / "pyspark").is_dir():
        install(given.version, place)
    paths = [str(place), str(ROOT / "src"), str(ROOT)]
    chosen = for_pytest if any(one.startswith("tests/") for one in for_pytest) else [*TESTS, *for_pytest]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", *chosen],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        check=False,
    )
    return ran.returncode


def install(version: str, place: Path) -> None:
    """Install PySpark, and what it needs, into a directory of its own. Raises CalledProcessError."""
    print(f"dev: installing pyspark {version} into {place.relative_to(ROOT)} (once)", file=sys.stderr)
    made = place.with_name(f"{place.name}.part")
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--target", str(made), "--upgrade"),
            *("--config-settings", "--build-option=--compression=stored"),
            f"pyspark=={version}",
        ],
        check=True,
    )
    made.rename(place)


def _version(text: str) -> str:
    if re.fullmatch(r"\d+\.\d+\.\d+", text, re.ASCII) is None:
        raise argparse.ArgumentTypeError(f"not a version such as 4.2.1: {text}")
    return text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
