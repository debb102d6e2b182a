from odradek.client.metrics import Metrics


def test_figures_have_kafkas_names() -> None:
    metrics = Metrics("consumer", "billing", {"fetch-total": 3, "records-lag-max": 0.5})
    assert dict(metrics) == {"fetch-total": 3, "records-lag-max": 0.5}
    assert len(metrics) == 2
    assert repr(metrics) == "Metrics(consumer, 'billing', {'fetch-total': 3, 'records-lag-max': 0.5})"


def test_prometheus_has_their_names_with_the_clients() -> None:
    metrics = Metrics("producer", "billing", {"record-send-total": 1 << 60, "last-poll-seconds-ago": 0.25})
    assert metrics.to_prometheus({"app": "shop"}).splitlines() == [
        "# TYPE kafka_producer_last_poll_seconds_ago gauge",
        'kafka_producer_last_poll_seconds_ago{client_id="billing",app="shop"} 0.25',
        "# TYPE kafka_producer_record_send_total counter",
        'kafka_producer_record_send_total{client_id="billing",app="shop"} 1152921504606846976',
    ]


def test_a_client_id_forges_no_line() -> None:
    text = Metrics("producer", 'a"} 1\nfake{b="\\', {"request-total": 1}).to_prometheus()
    assert text.splitlines()[1:] == ['kafka_producer_request_total{client_id="a\\"} 1\\nfake{b=\\"\\\\"} 1']
