"""The page `/describe/replicas`: this broker's fetchers and replicas, as JSON made in steps.

?topic=orders*       only topics whose names match
?under-replicated    only replicas that are not in sync, or whose partition is not
?limit=10            at most ten rows; `left_out` says how many there are beyond
"""

import re
from collections.abc import Mapping
from typing import Final

from odradek.base.execution import Steps, stepwise
from odradek.base.visible import visible_json
from odradek.replication.fetcher.fetcher_description import describe_fetcher
from odradek.replication.replica_report import ROWS_MAX, ReplicaReport, WantedReplicas
from odradek.server.node.core import BrokerCore

_FLAGS: Final = {"": True, "true": True, "false": False}


def wanted_replicas(query: Mapping[str, str]) -> WantedReplicas:
    """Reads the query of a request. Raises ValueError, with a sentence for the client, if it is not valid."""
    unknown = [name for name in query if name not in ("topic", "under-replicated", "limit")]
    if unknown:
        raise ValueError(f"{unknown[0]} is not one of topic, under-replicated, limit")
    flag, limit = query.get("under-replicated", "false"), query.get("limit", str(ROWS_MAX))
    if flag not in _FLAGS:
        raise ValueError("under-replicated is true or false")
    if not re.fullmatch("[0-9]{1,4}", limit) or not 1 <= int(limit) <= ROWS_MAX:
        raise ValueError(f"limit is a number from 1 to {ROWS_MAX}")
    return WantedReplicas(query.get("topic", "*"), _FLAGS[flag], int(limit))


def replicas_in_steps(core: BrokerCore, wanted: WantedReplicas) -> Steps[str]:
    """Returns the JSON document about the wanted replicas of a broker."""
    report = ReplicaReport(
        core.replicas,
        core.fetchers.manager,
        core.image,
        core.replication_quotas.leader,
        core.clock,
        core.logs.offline_logs,
    )
    made = yield from report.make(wanted)
    rows = yield from stepwise(made.rows, lambda row: f"\n  {visible_json(row)}")
    fetchers = [describe_fetcher(fetcher) for fetcher in core.fetchers.manager.fetchers()]
    about = {"broker_id": core.broker_id, "fetchers": fetchers, "left_out": made.left_out}
    return f'{visible_json(about)[:-1]}, "replicas": [{",".join(rows)}\n]}}\n'
