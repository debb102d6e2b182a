"""The two shells of our clients behind one face, so that one test holds for `odradek` and for `odradek.aio`.

A client of `odradek.aio` lives on a loop in a thread of its own. Each call of it runs there as an asyncio
application would make it, and the test waits for the answer.
"""

import asyncio
import inspect
import itertools
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar, cast

import odradek
import odradek.aio

T = TypeVar("T")

CALL_S_MAX = 90.0
"""More than any call of a client may take: its own limit is `default.api.timeout.ms`, 60 s."""


class Blocking:
    """The clients of `odradek`."""

    name = "blocking"

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def consumer(self, *topics: str, **settings: object) -> odradek.Consumer:
        """A consumer that reads from the beginning, unless its settings say otherwise.

        `interceptors` among the settings are the consumer's argument of this name.
        """
        interceptors = _interceptors_of(settings)
        given = {"auto_offset_reset": "earliest", **settings}
        return odradek.Consumer(
            *topics, bootstrap_servers=self.bootstrap, settings=given, interceptors=interceptors
        )

    def producer(self, **settings: object) -> odradek.Producer:
        """A producer."""
        return odradek.Producer(self.bootstrap, settings=settings)

    def admin(self) -> odradek.Admin:
        """An admin client."""
        return odradek.Admin(self.bootstrap)

    def iterate(self, consumer: odradek.Consumer, count: int) -> list[odradek.ConsumerRecord]:
        """The next records, by iteration."""
        return list(itertools.islice(consumer, count))

    def close(self) -> None:
        """Nothing: each client was closed by itself."""


class Asyncio(Blocking):
    """The clients of `odradek.aio`, on a loop that this object owns."""

    name = "asyncio"

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="compat-asyncio", daemon=True)
        self._thread.start()

    def consumer(self, *topics: str, **settings: object) -> odradek.Consumer:
        """As the blocking one; its calls run on the loop."""
        interceptors = _interceptors_of(settings)
        given = {"auto_offset_reset": "earliest", **settings}
        made = self._made(
            lambda: odradek.aio.Consumer(
                *topics, bootstrap_servers=self.bootstrap, settings=given, interceptors=interceptors
            )
        )
        return cast(odradek.Consumer, made)

    def producer(self, **settings: object) -> odradek.Producer:
        """As the blocking one; its calls run on the loop."""
        return cast(
            odradek.Producer, self._made(lambda: odradek.aio.Producer(self.bootstrap, settings=settings))
        )

    def admin(self) -> odradek.Admin:
        """As the blocking one; its calls run on the loop."""
        return cast(odradek.Admin, self._made(lambda: odradek.aio.Admin(self.bootstrap)))

    def iterate(self, consumer: odradek.Consumer, count: int) -> list[odradek.ConsumerRecord]:
        """The next records, from `stream()`."""
        client = cast(odradek.aio.Consumer, cast(_OnLoop, consumer).client)

        async def take() -> list[odradek.ConsumerRecord]:
            found: list[odradek.ConsumerRecord] = []
            async for record in client.stream():
                found.append(record)
                if len(found) == count:
                    break
            return found

        return self.run(take())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What a coroutine returns on the loop. Raises what it raises."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_S_MAX)

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Begin a coroutine on the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """End the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CALL_S_MAX)
        self._loop.close()

    def _made(self, make: Callable[[], "_Client"]) -> "_OnLoop":
        async def there() -> _Client:
            return make()

        return _OnLoop(self, self.run(there()))


class _Client(Protocol):
    """What the three clients of `odradek.aio` have in common."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


class _OnLoop:
    """A client of `odradek.aio` whose calls are made on the loop of `shell` and waited for."""

    def __init__(self, shell: Asyncio, client: _Client) -> None:
        self.client = client
        self._shell = shell

    def __getattr__(self, name: str) -> Callable[..., object]:
        method = getattr(self.client, name)

        def call(*arguments: object, **named: object) -> object:
            async def there() -> object:
                answer = method(*arguments, **named)
                return await answer if inspect.iscoroutine(answer) else answer

            answer = self._shell.run(there())
            # The answer of `send`: the test waits for the record, not for the append.
            return self._shell.start(_outcome(answer)) if isinstance(answer, asyncio.Future) else answer

        return call

    def __enter__(self) -> Self:
        self._shell.run(self.client.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._shell.run(self.client.__aexit__(kind, error, traceback))


def _interceptors_of(settings: dict[str, object]) -> Sequence[odradek.ConsumerInterceptor]:
    """Take the interceptors out of the settings."""
    return cast(Sequence[odradek.ConsumerInterceptor], settings.pop("interceptors", ()))


async def _outcome(future: "asyncio.Future[T]") -> T:
    return await future


SHELLS = {kind.name: kind for kind in (Blocking, Asyncio)}
