"""The Grafana dashboard and docs/metrics.md name metrics that a broker has."""

import http.client
import json
import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from odradek.testing.broker import Broker

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
DASHBOARD = ROOT / "deploy" / "grafana-dashboard.json"
PAGE = ROOT / "docs" / "metrics.md"
_METRIC = re.compile(r"\b(?:odradek|process)_[a-z_]+\b")


def expressions(panel: dict[str, Any]) -> list[str]:
    return [target["expr"] for target in panel.get("targets", ())]


@pytest.fixture(scope="module")
def there() -> set[str]:
    """The names of a broker's metrics, as samples and as families."""
    with Broker(settings={"odradek.admin.port": "0"}) as broker:
        broker.produce(broker.create_topic(), b"x")
        connection = http.client.HTTPConnection(broker.admin_address or "", timeout=10)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
    families = list(text_string_to_metric_families(text))
    names = {sample.name for family in families for sample in family.samples}
    for family in families:
        names |= {family.name, f"{family.name}_total"} if family.type == "counter" else {family.name}
    return names


def test_every_metric_that_the_dashboard_asks_for_exists(there: set[str]) -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    asked = {
        name for panel in panels for expression in expressions(panel) for name in _METRIC.findall(expression)
    }
    assert len(asked) > 20
    assert asked - there == set()


@pytest.mark.parametrize(
    "metric", ["odradek_metadata_store_connected", "odradek_metadata_store_sessions_ended_total"]
)
def test_the_metadata_store_is_shown(metric: str) -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    showing = [panel for panel in panels if any(metric in one for one in expressions(panel))]
    assert [panel["title"] for panel in showing] == ["Metadata store"]


def test_every_metric_on_the_page_exists(there: set[str]) -> None:
    named = set(_METRIC.findall(PAGE.read_text()))
    assert len(named) > 20
    assert {name for name in named if not name.endswith("_")} - there == set()


def test_its_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
