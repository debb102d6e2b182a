"""A Quix Streams application: `app.run(count=...)` ends after that number of records."""

from pathlib import Path

from quixstreams import Application, State

from odradek.testing import Broker


def totals(servers: str, source: str, target: str, directory: Path) -> Application:
    """The application: how much of each key has been ordered, in a state that a topic backs up."""
    app = Application(
        servers,
        consumer_group="totals",
        auto_offset_reset="earliest",
        state_dir=directory,
        loglevel=None,
        # Both only decide how long it waits at an idle topic.
        consumer_poll_timeout=0.1,
        consumer_extra_config={"fetch.wait.max.ms": 50},
    )
    orders = app.topic(source, key_deserializer="str", value_deserializer="json")
    stock = app.topic(target, key_serializer="str", value_serializer="json")

    def add(order: dict[str, int], state: State) -> dict[str, int]:
        total = state.get("total", 0) + order["count"]
        state.set("total", total)
        return {"total": total}

    app.dataframe(orders).apply(add, stateful=True).to_topic(stock)
    return app


def test_totals_are_sent(odradek_broker: Broker, odradek_topic: str, tmp_path: Path) -> None:
    stock = odradek_broker.create_topic()
    odradek_broker.produce(odradek_topic, '{"count": 2}', '{"count": 3}', key="lamp")

    totals(odradek_broker.bootstrap_servers, odradek_topic, stock, tmp_path).run(count=2, timeout=30)

    records = odradek_broker.records(stock)
    assert [(record.key, record.json()["total"]) for record in records] == [(b"lamp", 2), (b"lamp", 5)]


def test_a_new_machine_takes_the_state_from_its_change_log(
    odradek_broker: Broker, odradek_topic: str, tmp_path: Path
) -> None:
    stock = odradek_broker.create_topic()
    for machine, order in (("first", '{"count": 2}'), ("second", '{"count": 3}')):
        odradek_broker.produce(odradek_topic, order, key="lamp")
        app = totals(odradek_broker.bootstrap_servers, odradek_topic, stock, tmp_path / machine)
        app.run(count=1, timeout=30)

    assert [record.json()["total"] for record in odradek_broker.records(stock)] == [2, 5]
