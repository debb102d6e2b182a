"""`./dev spark VERSION`: the tests of the data source on another PySpark than the one of `constraints.txt`.

PySpark is installed into `build/pyspark-VERSION`, which comes before the environment for the tests and for
the workers of Spark. Pipelines into Delta and Iceberg are left out: each of their jars is for one Spark.

With `--client` it is PySpark's package without Spark (22 MB instead of 450), and the tests of bounded streams
that run no query: they need classes that PySpark has from 4.2 on.
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

TESTS_OF_CLIENT: Final = ["tests/spark/test_bounded_stream.py"]


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code of the tests."""
    parser = argparse.ArgumentParser(
        prog="./dev spark", description="The tests of the data source on another PySpark."
    )
    parser.add_argument("version", type=_version, help="PySpark's version, such as 4.2.1")
    parser.add_argument("--client", action="store_true", help="without Spark: the tests that run no query")
    given, for_pytest = parser.parse_known_args(arguments)
    package, tests = ("pyspark-client", TESTS_OF_CLIENT) if given.client else ("pyspark", TESTS)
    place = ROOT / "build" / f"{package}-{given.version}"
    if not (place / "pyspark").is_dir():
        install(package, given.version, place)
    paths = [str(place), str(ROOT / "src"), str(ROOT)]
    chosen = for_pytest if any(one.startswith("tests/") for one in for_pytest) else [*tests, *for_pytest]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", *chosen],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        check=False,
    )
    return ran.returncode


def install(package: str, version: str, place: Path) -> None:
    """Install PySpark, and what it needs, into a directory of its own. Raises CalledProcessError.

    The client needs packages for servers that are not asked here: it comes alone.
    """
    print(f"dev: installing {package} {version} into {place.relative_to(ROOT)} (once)", file=sys.stderr)
    made = place.with_name(f"{place.name}.part")
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--target", str(made), "--upgrade"),
            *("--config-settings", "--build-option=--compression=stored"),
            *(["--no-deps"] if package == "pyspark-client" else []),
            f"{package}=={version}",
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
