"""An application of FastAPI's that produces, tested with the fixture beside its own test client."""

from fastapi import FastAPI
from fastapi.testclient import TestClient
from kafka import KafkaProducer

from odradek.testing import Broker


def test_an_application_that_produces(odradek_broker: Broker) -> None:
    application = FastAPI()

    @application.post("/orders")
    def place(order: str) -> dict[str, int]:
        producer = KafkaProducer(bootstrap_servers=odradek_broker.bootstrap_servers)
        return {"offset": producer.send("placed", order.encode()).get(timeout=30).offset}

    with TestClient(application) as client:
        assert client.post("/orders", params={"order": "one"}).json() == {"offset": 0}
        assert client.post("/orders", params={"order": "two"}).json() == {"offset": 1}
