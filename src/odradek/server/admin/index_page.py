"""The index page `/` of the admin listener, for a person with a browser. Plain HTML without scripts.

Invariant: the page lists all paths of the listener, and contains nothing that a client chose.
"""

from html import escape
from typing import Final

from odradek import __version__

OFFERS: Final = (
    ("/metrics", "Metrics in Prometheus's text format."),
    ("/healthz", "200 while the process answers; for a liveness probe."),
    ("/readyz", "200 while clients are served, 503 before and during a stop; for a readiness probe."),
    ("/describe/partitions", "Partitions that this broker hosts: offsets, leader epoch, replicas."),
    (
        "/describe/replicas",
        "Replicas of this broker: who is behind and why (?under-replicated, ?topic=NAME, ?limit=10).",
    ),
    ("/describe/groups", "Consumer groups that this broker coordinates, and what each waits for."),
    ("/describe/transactions", "Transactions that this broker coordinates, and what each waits for."),
    (
        "/describe/connections",
        "Connections of clients and brokers: address, client id, requests, bytes.",
    ),
    ("/describe/purgatories", "Requests that are held back, each with the condition that it waits for."),
    ("/describe/compaction", "Logs that are being compacted, and those that cannot be."),
)
"""Every path for GET requests, with what it returns."""
FAULTS: Final = ("/test/faults", "Faults that tests have set; this broker was started with --test-faults.")

_STYLE: Final = (
    "body{font-family:system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;line-height:1.5;"
    "color-scheme:light dark}td{padding:.2rem 1.5rem .2rem 0;vertical-align:top}"
)


def index_page(broker_id: int, cluster_id: str, *, is_ready: bool, takes_faults: bool) -> str:
    """Returns the page of one broker."""
    offers = (*OFFERS, FAULTS) if takes_faults else OFFERS
    rows = "\n".join(
        f'<tr><td><a href="{path}"><code>{path}</code></a></td><td>{escape(words)}</td></tr>'
        for path, words in offers
    )
    state = "It serves clients." if is_ready else "It does not serve clients now."
    return f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Odradek broker {broker_id}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>Odradek broker {broker_id}</h1>
<p>Version {escape(__version__)}, cluster <code>{escape(cluster_id)}</code>. {state}</p>
<table>
{rows}
</table>
</body>
</html>
"""
