"""One client does one job in this process: `python -m benchmarks.clients.one_run CLIENT WORK JOB`, as JSON.

It prints the figures of the job and the memory that the process has used at most.
"""

import json
import re
import sys
from importlib import import_module
from pathlib import Path

from benchmarks.clients.job import Job


def main(client: str, work: str, job: str) -> None:
    """Do the job and print what it took."""
    figures = dict(getattr(import_module(f"benchmarks.clients.{client}"), work)(Job(**json.loads(job))))
    figures["memory"] = _memory_mb()
    print(json.dumps(figures))


def _memory_mb() -> float:
    """The most memory of this program; what getrusage says counts that of its parent, too."""
    found = re.search(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None, "Linux says it"
    return int(found[1]) / 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
