"""`./dev compat`: the suite on Odradek and on Apache Kafka (`--target odradek` or `kafka` for one).

`--brokers 3` runs it on a cluster of Odradek alone; an Apache Kafka that is asked for is always one broker.
"""

import os
import sys
from pathlib import Path

import pytest

# The clients' own warnings are not faults of a broker.
OPTIONS = ["-q", "-o", "filterwarnings=default", "--disable-warnings"]
# See lanes.py; `-n 0` runs all in this process.
OPTIONS += ["-n", "2"]

if __name__ == "__main__":
    code = pytest.main([str(Path(__file__).parent), *OPTIONS, *sys.argv[1:]])
    sys.stdout.flush()
    # Some clients leave threads that never end; the suite does not judge that.
    os._exit(int(code))
