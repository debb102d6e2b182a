"""`./dev compat`: the suite on Odradek and on Apache Kafka (`--target odradek` or `kafka` for one)."""

import sys
from pathlib import Path

import pytest

# The clients' own warnings are no fault of a broker.
OPTIONS = ["-q", "-o", "filterwarnings=default", "--disable-warnings"]

if __name__ == "__main__":
    sys.exit(pytest.main([str(Path(__file__).parent), *OPTIONS, *sys.argv[1:]]))
