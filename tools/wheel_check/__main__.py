"""`./dev wheel`: build the wheel and try it in clean environments, on every Python of this machine.

Each environment is one that users have: the base install in a test suite, all extras in a web application
whose own pins are older than ours, and every dependency at the lowest version that the package allows. On
each Python a seed of the simulator must be the same history as in the checkout's own environment.
"""

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.wheel_check.environments import ENVIRONMENTS, Environment, EnvironmentFailed, build_wheel
from tools.wheel_check.pythons import VERSIONS, pythons_here
from tools.wheel_check.tried.test_same_history import digest

AT_ONCE = 2
"""How many environments are made at a time: their tests wait, and so does pip for its packages."""


def main() -> int:
    """Try all; 1 when one failed, 2 when no Python was found."""
    parser = argparse.ArgumentParser(prog="./dev wheel", description=__doc__)
    parser.add_argument("--python", action="append", choices=VERSIONS, help="only this version (repeatable)")
    wanted = parser.parse_args().python or VERSIONS
    found = {version: path for version, path in pythons_here().items() if version in wanted}
    for version in sorted(set(wanted) - set(found)):
        print(f"Python {version}: not on this machine, left out")
    if not found:
        return 2
    os.environ["ODRADEK_HISTORY"] = digest()
    with tempfile.TemporaryDirectory(prefix="odradek-wheel-") as directory:
        wheel = build_wheel(Path(directory))
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
        with ThreadPoolExecutor(AT_ONCE) as threads:
            outcomes = [
                threads.submit(_try, environment, version, python, wheel, Path(directory))
                for version, python in found.items()
                for environment in ENVIRONMENTS
                if environment.tried_on(version, oldest=VERSIONS[0])
            ]
        passed = [outcome.result() for outcome in outcomes]
    return 0 if all(passed) else 1


def _try(environment: Environment, version: str, python: Path, wheel: Path, directory: Path) -> bool:
    began = time.monotonic()
    try:
        told = environment.check(python, wheel, directory / f"{environment.name}-{version}")
    except EnvironmentFailed as error:
        print(f"Python {version}, {environment.name}: FAILED\n{error}", flush=True)
        return False
    print(
        f"Python {version}, {environment.name}: {told} ({time.monotonic() - began:.0f} s with installing)",
        flush=True,
    )
    return True


if __name__ == "__main__":
    sys.exit(main())
