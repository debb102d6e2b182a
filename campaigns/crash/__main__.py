"""`./dev crash`: see the package."""

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from campaigns.crash.campaign import Broken, Campaign, Load
from campaigns.crash.commits import Commits
from campaigns.crash.produces import Produces
from campaigns.crash.rebalances import Rebalances
from campaigns.crash.transactions import Transactions
from odradek.testing.broker_process import BrokerProcess

LOADS: dict[str, type[Load]] = {
    "produces": Produces,
    "commits": Commits,
    "rebalances": Rebalances,
    "transactions": Transactions,
}


def main() -> int:
    """Exits with 1 when a promise was broken; what the broker had on disk then stays, and is named."""
    parser = argparse.ArgumentParser(prog="./dev crash", description="kill -9 under load, again and again")
    parser.add_argument("--during", choices=LOADS, default="produces", help="what clients do meanwhile")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the broker"
    )
    options = parser.parse_args()
    kind = LOADS[options.during]
    settings = dict(assignment.split("=", 1) for assignment in options.set)
    started = time.monotonic()
    scratch = Path(tempfile.mkdtemp(prefix="odradek-crash-"))
    broker = BrokerProcess(
        scratch / "data", settings={**kind.broker_settings, **settings}, log_path=scratch / "log"
    )
    keeps_scratch = False
    campaign = Campaign(broker, random.Random(options.seed))
    try:
        broker.start()
        load = kind(broker.bootstrap_servers, random.Random(options.seed + 1))
        campaign.run(load, options.kills)
    except Broken:
        keeps_scratch = True
        print(f"what was on disk: {scratch}", file=sys.stderr)
        return 1
    finally:
        if broker.is_running:
            broker.stop()
        if not keeps_scratch:
            shutil.rmtree(scratch)
    seconds = round(time.monotonic() - started)
    told = {"during": options.during, "seed": options.seed, "settings": settings, "seconds": seconds}
    print(json.dumps({**told, "kills": campaign.kills, "torn_ends_cut": campaign.cuts, **load.counted()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
