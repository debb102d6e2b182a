"""`./dev corrupt`: see the package."""

import argparse
import json
import sys
import traceback
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from campaigns.corrupt.check import Findings, start_and_check
from campaigns.corrupt.cluster_world import FILE_KINDS, ClusterWorld
from campaigns.corrupt.damage import KINDS, Damage, do_damage
from campaigns.corrupt.world import World


def run_seed(seed: int) -> tuple[Damage, bool, Findings]:
    """One directory, one damage, one start. Returns the damage, whether the stop was clean, the findings."""
    kind = Random(f"{seed} kind").choice((*KINDS, *FILE_KINDS))
    return run_store(seed, kind) if kind in FILE_KINDS else run_logs(seed)


def run_store(seed: int, kind: str) -> tuple[Damage, bool, Findings]:
    """The same for a file of the metadata store."""
    with TemporaryDirectory() as folder:
        try:
            return ClusterWorld(Random(seed), Path(folder)).run(kind)
        except Exception:
            return Damage(kind, kind, "?", 0), False, Findings(wrong=[traceback.format_exc()])


def run_logs(seed: int) -> tuple[Damage, bool, Findings]:
    """The same for a file of a log directory."""
    random = Random(seed)
    world = World(random)
    clean_stop = random.random() < 0.6
    world.fill(clean_stop=clean_stop)
    damage = do_damage(world.disk, random)
    try:
        return damage, clean_stop, start_and_check(world, damage)
    except Exception:
        return damage, clean_stop, Findings(wrong=[traceback.format_exc()])


def main() -> int:
    """Exits with 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="./dev corrupt", description="damage one file and start again")
    parser.add_argument("--seeds", default="1-500", metavar="A-B")
    parser.add_argument("--verbose", action="store_true", help="show every damage and what the start said")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    counts: Counter[str] = Counter()
    by_kind: Counter[str] = Counter()
    broken = 0
    for seed in range(int(first), int(last or first) + 1):
        damage, clean_stop, findings = run_seed(seed)
        by_kind[damage.kind] += 1
        stop = "clean stop" if clean_stop else "kill"
        counts[stop] += 1
        counts["refused"] += findings.refused is not None
        counts["with a report"] += bool(findings.lines)
        counts["unreadable to clients"] += bool(findings.unreadable)
        if findings.wrong and damage.is_outside_crc:
            # As in Kafka: what was on disk before the recovery point is not verified, after a clean stop
            # nothing is, and no checksum covers these bytes.
            counts["outside every checksum"] += 1
            findings.wrong.clear()
        if findings.wrong or options.verbose:
            print(f"seed {seed} ({stop}) {damage}", file=sys.stderr)
            for line in [*findings.lines, *filter(None, [findings.refused])]:
                print(f"    said: {line}", file=sys.stderr)
        for wrong in findings.wrong:
            print(f"    WRONG: {wrong}", file=sys.stderr)
        broken += bool(findings.wrong)
    print(json.dumps({"seeds": options.seeds, "broken": broken, **counts, "damaged": dict(by_kind)}))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
