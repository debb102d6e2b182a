"""Worlds for the conformance suite of sessions: an engine in this process, and one behind connections."""

from typing import Protocol

from odradek.base.held_calls import HeldCalls
from odradek.metadata.store import MetadataStore, SessionOpened, StoreEngine, StoreEvent
from odradek.metadata.store_host import StoreHost
from tests.metadata.service.pipes import Client, PipeWorld


class SessionWorld(Protocol):
    """Where the suite's sessions live; nothing happens in it before `run`."""

    def session(self) -> MetadataStore:
        """A session that is not open."""

    def run(self) -> None:
        """Let everything happen."""

    def expire(self, session_id: int) -> None:
        """End a session as if its holder had not been heard."""

    def close(self) -> None:
        """End."""


class HostWorld:
    """A host in this process, whose calls run when the test says so."""

    def __init__(self, engine: StoreEngine) -> None:
        self.calls = HeldCalls()
        self.host = StoreHost(engine, self.calls)

    def session(self) -> MetadataStore:
        return self.host.session()

    def run(self) -> None:
        self.calls.complete()

    def expire(self, session_id: int) -> None:
        self.host.tell(self.host.engine.close_session(session_id))

    def close(self) -> None:
        self.host.close()
        self.run()


class ServedWorld:
    """An engine behind the service, each session in a process of its own; the bytes go through pipes."""

    def __init__(self, engine: StoreEngine) -> None:
        self.pipes = PipeWorld(engine)
        self.clients: list[Client] = []

    def session(self) -> MetadataStore:
        return self.pipes.client().session

    def run(self) -> None:
        self.pipes.settle()

    def expire(self, session_id: int) -> None:
        assert self.pipes.server is not None
        self.pipes.server.service.end_session(session_id)
        self.run()

    def close(self) -> None:
        self.pipes.end_server(at_once=False)
        self.pipes.engine.close()


def opened(world: SessionWorld) -> tuple[MetadataStore, list[StoreEvent], int]:
    """A session that is open, its events from now on, and its number."""
    session, heard = world.session(), list[StoreEvent]()
    session.open(heard.append)
    world.run()
    (event,) = heard
    assert isinstance(event, SessionOpened)
    heard.clear()
    return session, heard, event.session_id
