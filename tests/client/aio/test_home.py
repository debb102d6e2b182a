"""Clients of asyncio, and blocking ones, in a forked process and on threads and loops that are not theirs."""

import asyncio
import inspect
import json
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import pytest

import odradek
from odradek.aio import Admin, Consumer, Producer, TopicPartition
from odradek.client.aio.home import Misuse
from odradek.testing import Broker

pytestmark = [pytest.mark.slow, pytest.mark.integration]

P0 = TopicPartition("orders", 0)
ARGUMENTS: Final[Mapping[str, tuple[object, ...]]] = {
    "subscribe": (["orders"],),
    "assign": ([P0],),
    "poll": (0,),
    "poll_batch": (0,),
    "commit": ({P0: 0},),
    "commit_async": ({P0: 0},),
    "committed": ([P0],),
    "seek": (P0, 0),
    "position": (P0,),
    "pause": ([P0],),
    "resume": ([P0],),
    "lag": (P0,),
    "offsets_for_times": ({P0: 0},),
    "beginning_offsets": ([P0],),
    "end_offsets": ([P0],),
    "send": ("orders", b"x"),
    "send_and_wait": ("orders", b"x"),
    "partitions_for": ("orders",),
    "send_offsets_to_transaction": ({P0: 0}, "billing"),
}
"""What the methods of consumers and producers are called with; the others need nothing."""
# What the two forms of a client use between them; `close` and `abandon` do nothing in a forked process.
NO_CALLS: Final = {
    "close",
    "abandon",
    "leaving",
    "append",
    "append_now",
    "until",
    "max_block_ms",
    "poll_pieces",
    "undo",
    "put_back",
    "put_back_unless_committed",
    "carry_out",
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        running.create_topic("orders", partitions=1)
        yield running


def calls_of(client: object) -> dict[str, Callable[[], object]]:
    """A call of each public method."""
    found = {}
    for kind in type(client).__mro__:
        for name in vars(kind):
            if name.startswith("_") or name in NO_CALLS or not callable(getattr(client, name)):
                continue
            found[name] = _call(client, name)
    return found


def _call(client: object, name: str) -> Callable[[], object]:
    method: Callable[..., object] = getattr(client, name)
    if name == "produce_batch":
        table = _table()
        return lambda: method(table, topic="orders")
    if name in ARGUMENTS:
        return lambda: method(*ARGUMENTS[name])
    parameters = inspect.signature(getattr(type(client), name)).parameters.values()
    needed = [one for one in parameters if one.default is one.empty and one.name != "self"]
    # What an operation of an administrator is given it looks at later.
    return lambda: method(*({} for _ in needed))


def _table() -> object:
    pa = pytest.importorskip("pyarrow")
    return pa.table({"value": [b"x"]})


async def _awaited(made: Any) -> None:
    if inspect.isawaitable(made):
        await made
    elif isinstance(made, AsyncIterator):
        await anext(made)
    elif hasattr(made, "__aenter__"):
        async with made:
            pass


def _carried_out(made: Any) -> None:
    """Let a call of a client without asyncio take place, also where it is a block or an iteration."""
    if isinstance(made, Iterator):
        next(made)
    elif hasattr(made, "__enter__"):
        with made:
            pass


def misused(call: Callable[[], object], *, is_aio: bool = True) -> str:
    """What a call says that is refused as a misuse; else what has become of it."""
    try:
        made = call()
        asyncio.run(_awaited(made)) if is_aio else _carried_out(made)
    except Misuse as misuse:
        return str(misuse)
    except BaseException as error:
        return repr(error)
    return "nothing"


def in_a_fork(clients: Mapping[str, object], *, is_aio: bool) -> dict[str, str]:
    """What each method of the clients says in a forked process, which then closes them."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        said: dict[str, str] = {}
        try:
            for kind, client in clients.items():
                for name, call in calls_of(client).items():
                    said[f"{kind}.{name}"] = misused(call, is_aio=is_aio)
                closed = client.close()  # type: ignore[attr-defined]
                if is_aio:
                    asyncio.run(closed)
        except BaseException as error:
            said["failed"] = repr(error)
        finally:
            with os.fdopen(writing, "w") as pipe:
                json.dump(said, pipe)
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        found: dict[str, str] = json.load(pipe)
    os.waitpid(child, 0)
    return found


def check(said: Mapping[str, str], words: str, *, least: int) -> None:
    assert {name: one for name, one in said.items() if words not in one} == {}
    assert len(said) >= least


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork_says_so_and_harms_no_client_of_its_parent(broker: Broker) -> None:
    async def use() -> dict[str, str]:
        consumer = Consumer(bootstrap_servers=broker.bootstrap_servers, group_id="g")
        consumer.assign([P0])
        consumer.seek(P0, 0)
        async with (
            consumer,
            Producer(broker.bootstrap_servers, transactional_id="t") as producer,
            Admin(broker.bootstrap_servers) as admin,
        ):
            await producer.init_transactions()
            async with producer.transaction():
                await producer.send("orders", b"before")
            assert [record.value for record in await consumer.poll(10)] == [b"before"]
            before = await admin.list_topics()
            said = in_a_fork({"consumer": consumer, "producer": producer, "admin": admin}, is_aio=True)
            async with producer.transaction():
                await producer.send("orders", b"after")
            found: list[object] = []
            while not found:
                found = [record.value for record in await consumer.poll(10)]
            assert found == [b"after"]
            assert await admin.list_topics() == before
        return said

    check(asyncio.run(use()), "was made before this process was forked", least=75)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_blocking_clients_say_so_too(broker: Broker) -> None:
    with (
        odradek.Consumer(bootstrap_servers=broker.bootstrap_servers, group_id="g") as consumer,
        odradek.Producer(broker.bootstrap_servers, transactional_id="t2") as producer,
        odradek.Admin(broker.bootstrap_servers) as admin,
    ):
        consumer.assign([P0])
        before = admin.list_topics()
        said = in_a_fork({"consumer": consumer, "producer": producer, "admin": admin}, is_aio=False)
        producer.init_transactions()
        assert admin.list_topics() == before
    said.pop("consumer.wakeup")  # a signal handler may call it anywhere
    check(said, "was made before this process was forked", least=70)


def test_another_thread_and_another_loop_are_refused(broker: Broker) -> None:
    """Also for what only looks: nothing there expects that it changes meanwhile."""

    async def use() -> tuple[dict[str, str], dict[str, object]]:
        consumer = Consumer(bootstrap_servers=broker.bootstrap_servers, group_id="g")
        consumer.assign([P0])
        producer = Producer(broker.bootstrap_servers)
        await producer.partitions_for("orders")
        admin = Admin(broker.bootstrap_servers)
        await admin.list_topics()
        clients: dict[str, object] = {"consumer": consumer, "producer": producer, "admin": admin}
        said: dict[str, str] = {}

        def there() -> None:
            for kind, client in clients.items():
                for name, call in calls_of(client).items():
                    said[f"{kind}.{name}"] = misused(call)
                said[f"{kind}.close"] = misused(client.close)  # type: ignore[attr-defined]

        thread = threading.Thread(target=there)
        thread.start()
        while thread.is_alive():
            await asyncio.sleep(0)
        assert await admin.list_topics() == ["orders"]
        return said, clients

    async def end(clients: Iterable[Any]) -> None:
        for client in clients:
            await client.close()

    with asyncio.Runner() as runner:
        said, clients = runner.run(use())
        check(said, "belongs to the loop of another thread", least=75)
        for kind, name in (("consumer", "poll"), ("producer", "flush"), ("admin", "list_topics")):
            assert "belongs to another event loop" in misused(calls_of(clients[kind])[name])
        runner.run(end(clients.values()))


def test_a_consumer_outside_of_a_loop_is_told_where_it_is_made() -> None:
    with pytest.raises(Misuse, match=r"a consumer of odradek\.aio is made within a running loop"):
        Consumer("orders", group_id="billing")
