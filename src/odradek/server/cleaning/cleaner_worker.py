"""A process that cleans one log and ends: `python -m …cleaning.cleaner_worker BYTES_PER_SECOND`.

It works on files only, without the broker. It reads one job from standard input, which stays open: its end
means that the broker is gone, and this process then ends, so that two processes never clean one log. It
writes a line of JSON to standard output for each cleaned segment, then one for the report or the error.

    < {"directory": "/data/facts-0", ...}
    > {"segment": {"replaced": [[0, 1048500], [1200, 1048321]], "size_bytes": 81000}}
    > {"report": {"end_offset": 2391, ...}}
or  > {"error": {"kind": "OSError", "errno": 5, "message": "..."}}
"""

import gc
import json
import os
import select
import sys
import time
from dataclasses import asdict
from typing import Any, Final

from odradek.base.errors import LogError
from odradek.storage.cleaned_segment import CleanedSegment
from odradek.storage.compaction.cleaning import clean
from odradek.storage.compaction.job import CleaningJob
from odradek.storage.os_files import OsFileSystem

# A lower priority than every broker on the same cores, because clients wait for the brokers.
NICENESS: Final = 10

_STDIN: Final = 0
# The longest wait: a very low rate would need waits that the system does not accept.
WAIT_S_MAX: Final = 3600.0


class Pace:
    """Limits the rate of bytes read and written, and ends the process when the broker is gone."""

    def __init__(self, bytes_per_second: float) -> None:
        self._bytes_per_second = bytes_per_second
        self._start_s = time.monotonic()
        self._total_bytes = 0

    def __call__(self, size_bytes: int) -> None:
        """Count bytes; returns when the rate allows more."""
        self._total_bytes += size_bytes
        due_s = self._start_s + self._total_bytes / self._bytes_per_second
        while True:
            left_s = due_s - time.monotonic()
            if select.select([_STDIN], [], [], min(max(0.0, left_s), WAIT_S_MAX))[0]:
                sys.exit(1)
            if left_s <= WAIT_S_MAX:
                return


def main() -> None:
    """Do the job on standard input."""
    os.nice(NICENESS)
    gc.disable()  # a cleaning makes no cycles, but many small objects that a collection would examine
    pace = Pace(float(sys.argv[1]))
    told = sys.stdin.buffer.readline()
    if not told.endswith(b"\n"):
        sys.exit(1)  # the broker is gone before it sent the job
    job = CleaningJob.from_json(told)
    try:
        report = clean(job, OsFileSystem(), _announce, pace)
    except OSError as error:
        _say("error", {"kind": "OSError", "errno": error.errno, "message": str(error)})
    except LogError as error:
        _say("error", {"kind": "LogError", "message": str(error)})
    else:
        _say("report", asdict(report))


def _announce(segment: CleanedSegment) -> None:
    _say("segment", asdict(segment))


def _say(kind: str, fields: dict[str, Any]) -> None:
    try:
        print(json.dumps({kind: fields}), flush=True)  # noqa: T201 - this is the answer
    except BrokenPipeError:
        # The broker is gone, and `Pace` had no turn to notice. At once: the interpreter would flush.
        os._exit(1)


if __name__ == "__main__":
    main()
