"""The metrics of a client: counts since its start, and what it measured in the last time, by Kafka's names.

    metrics = consumer.metrics()
    metrics["records-consumed-total"]      1200
    metrics["records-consumed-rate"]       37.5
    print(metrics.to_prometheus())         kafka_consumer_records_consumed_total{client_id="odradek"} 1200

Rates are per second, times in milliseconds; over which time they are measured, `client.sampled` says. A
figure that is not known, such as a lag before the first fetch, is left out.
"""

from collections.abc import Iterator, Mapping
from typing import Final

_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class Metrics(Mapping[str, float]):
    """See the module."""

    def __init__(self, client: str, client_id: str, values: Mapping[str, float]) -> None:
        """`client` is "consumer", "producer" or "admin_client"."""
        self._client = client
        self._client_id = client_id
        self._values = dict(values)

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Metrics({self._client}, {self._client_id!r}, {self._values})"

    def to_prometheus(self, labels: Mapping[str, str] | None = None) -> str:
        """Prometheus's text format: `client_id` and `labels` are on every line.

        Names that end in `-total` are counters, all others are gauges.
        """
        marks = {"client_id": self._client_id, **(labels or {})}
        marked = ",".join(f'{name}="{text.translate(_ESCAPES)}"' for name, text in marks.items())
        lines = []
        for name, number in sorted(self._values.items()):
            metric = f"kafka_{self._client}_{name.replace('-', '_')}"
            lines.append(f"# TYPE {metric} {'counter' if name.endswith('-total') else 'gauge'}")
            lines.append(f"{metric}{{{marked}}} {number}")
        return "".join(f"{line}\n" for line in lines)
