"""The record of one run of a benchmark: every measurement, with commit, machine and settings, as JSON.

Of brokers the files begin with `macro-`; `benchmarks.clients` has files of its own, in which a measurement
names a client in the place of the broker.
"""

import json
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


@dataclass(slots=True)
class Measurement:
    """One scenario on one broker, once; `error` instead of figures when it failed."""

    pair: int  # from 1: measurements of one pair were made one after the other
    broker: str
    scenario: str
    figures: dict[str, float] = field(default_factory=dict)
    error: str | None = None


@dataclass(slots=True)
class Run:
    """One run: its conditions, and all of its measurements in the order in which they were made."""

    date: str
    commit: str
    is_clean: bool  # Whether src had no uncommitted changes: then the commit is what was measured.
    machine: dict[str, str]
    versions: dict[str, str]
    settings: dict[str, str]  # of both brokers, on top of their defaults
    measurements: list[Measurement] = field(default_factory=list)

    def save(self, kind: str = "macro") -> Path:
        """Write it below benchmarks/results, as a file whose name begins with `kind`; returns the file."""
        RESULTS.mkdir(exist_ok=True)
        stamp = self.date.replace(":", "").replace("-", "")
        path = RESULTS / f"{kind}-{stamp}-{self.commit[:10]}.json"
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")
        return path


def new_run(*, versions: Mapping[str, str], settings: Mapping[str, str]) -> Run:
    """An empty record of a run that begins now."""
    return Run(
        date=datetime.now(UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z",
        commit=_git("rev-parse", "HEAD"),
        is_clean=not _git("status", "--porcelain", "--", "src"),
        machine={
            "cores": str(os.cpu_count()),
            "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.0f} GB",
            "processor": _processor(),
            "system": f"{platform.system()} {platform.release()}",
            "python": platform.python_version(),
            "java": _java_version(),
        },
        versions=dict(versions),
        settings=dict(settings),
    )


def saved_runs(kind: str = "macro") -> Iterator[Run]:
    """All recorded runs of a kind, the oldest first."""
    for path in sorted(RESULTS.glob(f"{kind}-*.json")):
        told = json.loads(path.read_text())
        measurements = [Measurement(**each) for each in told.pop("measurements")]
        yield Run(**told, measurements=measurements)


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _java_version() -> str:
    told = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
    return told.splitlines()[0]
