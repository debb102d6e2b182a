"""What interceptors of a producer see and change, and that each record is told once, however it ends."""

import asyncio
import logging
from collections import Counter

import pytest

from odradek.base.error_codes import ErrorCode
from odradek.base.errors import ApiError
from odradek.client.aio.deliveries import Receipt
from odradek.client.aio.producer import Producer
from odradek.client.aio.producer_interceptors import ProducerInterceptors, ProducerRecord, record_of
from odradek.client.core.producer.outgoing import Outgoing
from odradek.testing import Cluster, simulate

RECORD = Outgoing("flights", b"LX 38", b"k", ((b"gate", b"B12"),), None, None)


class Noting:
    """Notes what it sees, and adds to it what it is made with."""

    def __init__(self, mark: bytes = b"") -> None:
        self.mark = mark
        self.sent: list[ProducerRecord] = []
        self.told: list[tuple[str, Receipt | None, Exception | None]] = []

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """See `ProducerInterceptor`."""
        self.sent.append(record)
        return record._replace(
            value=(record.value or b"") + self.mark, headers=(*record.headers, ("seen", self.mark))
        )

    def on_acknowledgement(self, topic: str, receipt: Receipt | None, error: Exception | None) -> None:
        """See `ProducerInterceptor`."""
        self.told.append((topic, receipt, error))

    @property
    def errors(self) -> list[str]:
        """What was told of the records that have failed."""
        return [str(error) for _, _, error in self.told if error is not None]


class Failing(Noting):
    """Raises in every call."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """See `ProducerInterceptor`."""
        raise ValueError("no record for me")

    def on_acknowledgement(self, topic: str, receipt: Receipt | None, error: Exception | None) -> None:
        """See `ProducerInterceptor`."""
        raise ValueError("no news for me")


class Breaking(Noting):
    """Returns what cannot be sent."""

    def __init__(self, returned: object) -> None:
        super().__init__()
        self.returned = returned

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """See `ProducerInterceptor`."""
        super().on_send(record)
        return self.returned  # type: ignore[return-value]


def test_each_sees_what_the_one_before_has_made() -> None:
    first, second = Noting(b" first"), Noting(b" second")
    found = ProducerInterceptors([first, second]).sent(RECORD)
    assert first.sent == [ProducerRecord("flights", b"LX 38", b"k", (("gate", b"B12"),), None, None)]
    assert [one.value for one in second.sent] == [b"LX 38 first"]
    assert found.value == b"LX 38 first second"
    assert found.headers == ((b"gate", b"B12"), (b"seen", b" first"), (b"seen", b" second"))


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (None, "an interceptor returns a ProducerRecord, not NoneType"),
        (RECORD, "an interceptor returns a ProducerRecord, not Outgoing"),
        (record_of(RECORD)._replace(value="text"), "the value of a record is bytes or None, not str"),  # type: ignore[arg-type]
        (record_of(RECORD)._replace(partition=-1), "partition -1 is below 0"),
        (record_of(RECORD)._replace(topic=""), "the name of a topic is not empty"),
    ],
)
def test_what_cannot_be_sent_leaves_the_record_as_it_was(
    returned: object, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    behind = Noting()
    with caplog.at_level(logging.ERROR, logger="odradek.producer"):
        found = ProducerInterceptors([Breaking(returned), behind]).sent(RECORD)
    assert behind.sent == [record_of(RECORD)]
    assert found.value == RECORD.value
    assert said in caplog.text


@simulate(brokers=1, seeds=2)
async def test_records_are_changed_and_told_where_they_are(cluster: Cluster) -> None:
    noting = Noting(b"!")
    async with Producer(cluster.bootstrap_servers, interceptors=[Failing(), noting]) as producer:
        deliveries = [await producer.send("flights", b"%d" % number) for number in range(20)]
        deliveries[3].cancel()  # it is sent all the same
        await producer.flush()
        receipts = [await one for one in deliveries if not one.cancelled()]
        with pytest.raises(ApiError, match="interceptors see no rows"):
            await producer.append_all([], None)  # type: ignore[arg-type]
    told = [receipt for _, receipt, _ in noting.told if receipt is not None]
    assert [one.offset for one in told] == list(range(20))
    assert [one for one in told if one.offset != 3] == receipts
    assert noting.errors == []
    stored = await cluster.records("flights")
    assert [record.value for record in stored] == [b"%d!" % one for one in range(20)]


@simulate(brokers=1, seeds=2)
async def test_records_that_are_not_stored_are_told_once(cluster: Cluster) -> None:
    noting = Noting()
    settings = {"max.block.ms": 2_000, "max.request.size": 2_000}
    producer = Producer(cluster.bootstrap_servers, settings=settings, interceptors=[noting])
    await (await producer.send("flights", b"1"))
    with pytest.raises(ApiError) as large:
        await producer.send("flights", b"x" * 3_000)
    assert large.value.code is ErrorCode.MESSAGE_TOO_LARGE
    with pytest.raises(TypeError):
        await producer.send("flights", "text")  # type: ignore[arg-type]
    waiting = asyncio.ensure_future(producer.send("flights", b"2", partition=7))
    await asyncio.sleep(1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    with pytest.raises(ApiError, match="not sent within 2 s"):
        await producer.send("flights", b"2", partition=7)
    (broker,) = cluster.brokers
    cluster.kill(broker)
    left = await producer.send("flights", b"3")
    await producer.close(timeout=1)
    assert left.exception() is not None
    with pytest.raises(ApiError, match="this producer was closed"):
        await producer.send("flights", b"4")
    assert [record.value for record in noting.sent][:1] == [b"1"]
    assert len(noting.told) == len(noting.sent) == 6
    assert Counter(topic for topic, _, _ in noting.told) == {"flights": 6}
    assert [receipt.offset for _, receipt, _ in noting.told if receipt is not None] == [0]
    too_large, interrupted, unknown, *closed = noting.errors
    assert too_large == str(large.value)
    assert "not sent: the call was interrupted" in interrupted
    assert "not sent within 2 s" in unknown
    assert all("this producer was closed" in one for one in closed)
