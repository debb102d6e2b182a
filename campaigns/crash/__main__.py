"""`./dev crash`: see the package."""

import argparse
import json
import logging
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from campaigns.crash.campaign import CLIENTS_LOG, Broken, Campaign, Load
from campaigns.crash.cluster_campaign import CLUSTER_SETTINGS, ClusterCampaign
from campaigns.crash.clusters import Cluster, ZooKeeperCluster
from campaigns.crash.commits import Commits
from campaigns.crash.mishaps import Mishap, possible
from campaigns.crash.produces import Produces, ReplicatedProduces
from campaigns.crash.rebalances import Rebalances
from campaigns.crash.transactions import Transactions
from odradek.testing.broker_process import BrokerProcess
from odradek.testing.cluster_process import ClusterProcess

LOADS: dict[str, type[Load]] = {
    "produces": Produces,
    "commits": Commits,
    "rebalances": Rebalances,
    "transactions": Transactions,
}
LOADS_OF_CLUSTERS: dict[str, type[Load]] = {**LOADS, "produces": ReplicatedProduces}


def main() -> int:
    """Exits with 1 when a promise was broken; what the broker had on disk then stays, and is named."""
    parser = argparse.ArgumentParser(prog="./dev crash", description="kill -9 under load, again and again")
    parser.add_argument("--during", choices=LOADS, default="produces", help="what clients do meanwhile")
    parser.add_argument("--kills", type=int, default=50, help="how many; with --brokers, so many rounds")
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=1, help="3: a cluster and its mishaps")
    parser.add_argument(
        "--mishaps",
        default="",
        metavar="NAME,...",
        help="with --brokers: only these (campaigns/crash/mishaps)",
    )
    parser.add_argument(
        "--zookeeper", action="store_true", help="with --brokers: around a ZooKeeper, not under a supervisor"
    )
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the broker"
    )
    options = parser.parse_args()
    settings = dict(assignment.split("=", 1) for assignment in options.set)
    started = time.monotonic()
    scratch = Path(tempfile.mkdtemp(prefix="odradek-crash-"))
    CLIENTS_LOG.addHandler(logging.FileHandler(scratch / "clients.log"))
    attack = _attack_broker if options.brokers == 1 else _attack_cluster
    try:
        counted = attack(scratch, options, settings)
    except Broken:
        print(f"what was on disk: {scratch}", file=sys.stderr)
        return 1
    except BaseException:
        shutil.rmtree(scratch)
        raise
    shutil.rmtree(scratch)
    seconds = round(time.monotonic() - started)
    told = {"during": options.during, "seed": options.seed, "settings": settings, "seconds": seconds}
    print(json.dumps({**told, **counted}))
    return 0


def _attack_broker(
    scratch: Path, options: argparse.Namespace, settings: Mapping[str, str]
) -> dict[str, float]:
    """A campaign on a single broker; returns what was counted. Raises Broken."""
    kind = LOADS[options.during]
    broker = BrokerProcess(
        scratch / "data", settings={**kind.broker_settings, **settings}, log_path=scratch / "log"
    )
    campaign = Campaign(broker, random.Random(options.seed))
    try:
        broker.start()
        load = kind(broker.bootstrap_servers, random.Random(options.seed + 1))
        campaign.run(load, options.kills)
    finally:
        if broker.is_running:
            broker.stop()
    return {"kills": campaign.kills, "torn_ends_cut": campaign.cuts, **load.counted()}


def _attack_cluster(
    scratch: Path, options: argparse.Namespace, settings: Mapping[str, str]
) -> dict[str, float]:
    """A campaign on a cluster of three; returns what was counted. Raises Broken."""
    kind = LOADS_OF_CLUSTERS[options.during]
    given = {**CLUSTER_SETTINGS, **kind.broker_settings, **settings}
    cluster = _new_cluster(scratch, options, given)
    able = possible(cluster)
    mishaps = [Mishap[name] for name in options.mishaps.split(",")] if options.mishaps else able
    campaign = ClusterCampaign(cluster, random.Random(options.seed), mishaps)
    try:
        cluster.start()
        campaign.await_whole()  # before that a topic may be refused its three replicas
        load = kind(cluster.bootstrap_servers, random.Random(options.seed + 1))
        campaign.run(load, options.kills)
    finally:
        cluster.close()
    return {**campaign.counted(), **load.counted()}


def _new_cluster(scratch: Path, options: argparse.Namespace, settings: dict[str, str]) -> Cluster:
    log_path = scratch / "log"
    if not options.zookeeper:
        return ClusterProcess(
            scratch / "data", options.brokers, settings=settings, log_path=log_path, test_faults=True
        )
    del settings["broker.session.timeout.ms"]
    return ZooKeeperCluster(scratch / "data", options.brokers, settings=settings, log_path=log_path)


if __name__ == "__main__":
    sys.exit(main())
