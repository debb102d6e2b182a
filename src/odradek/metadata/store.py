"""The metadata store's port: a small tree of versioned nodes that the cluster agrees on.

This module must not know topics or brokers (`paths` and `codec` do), and it never waits. It
offers the features of ZooKeeper that Kafka uses:

- nodes by path, each with bytes and a version that every write raises by one; the parent must exist;
- writes that hold only if the version is still the expected one (compare and set);
- `Multi`: several writes, all or none;
- ephemeral nodes, which vanish with the session that made them, and sequential ones, which get a number;
- one-shot watches, armed by the very read whose answer they guard, so that no change falls between.

The port has two forms:

    MetadataStore   what cores and servers hold: a session. `submit(operation)` returns the number of the
                    call; its result, what watches saw and the end of the session come as events
    StoreEngine     synchronous, what executes: `apply(session, operation)`. `store_host` makes sessions of it

Errors are values. A `Failed` with CONNECTION_LOSS means that it is unknown whether the write was done. When
the session is reconnected, the event `Reconnected` comes before the result of any later operation: all
watches armed before are gone. When the session has ended, the event `SessionEnded` comes, and `open` begins
another one.

Before an operation's result, a session gets every event of earlier operations, and the events that the
operation itself fired.

    >>> Create("/brokers/topics/flights", b"{}")        ->  Created("/brokers/topics/flights")
    >>> SetData("/controller_epoch", b"2", version=0)   ->  Written(1)
    >>> SetData("/controller_epoch", b"3", version=0)   ->  Failed(BAD_VERSION, "/controller_epoch")
"""

from collections.abc import Callable, Iterable
from enum import Enum
from itertools import islice
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from odradek.base.errors import OdradekError
from odradek.base.execution import Asking
from odradek.base.values import value

ROOT = "/"
ANY_VERSION = -1
NO_SESSION = 0
NODE_BYTES_MAX = 1 << 20
MULTI_OPERATIONS_MAX = 50_000
MULTI_BYTES_MAX = 64 << 20
READS_MAX = 100
"""How many reads go into one `Reads`: what takes about 1 ms to decode."""
ATTEMPTS_MAX = 10
"""How often steps that were overtaken, or whose answer was lost, begin anew before they give up."""


class Fault(Enum):
    """Why an operation was not done."""

    NO_NODE = "no such node, or no parent for a new one"
    NODE_EXISTS = "the node is there already"
    BAD_VERSION = "the node was written since"
    NOT_EMPTY = "the node has children"
    NO_CHILDREN_FOR_EPHEMERALS = "an ephemeral node cannot have children"
    TOO_LARGE = "more bytes or operations than the store takes"
    SESSION_EXPIRED = "the session is over; its ephemeral nodes are gone"
    CONNECTION_LOSS = "no answer came: done or not done"
    STORE_FAILED = "the store's disk failed"
    UNREACHABLE = "no session with the metadata store"
    NOT_ALLOWED = "an ACL of the store does not allow it"


class NodeStat(NamedTuple):
    """The metadata of a node, besides its bytes."""

    # How often the data was set since the node was made.
    version: int
    # The store's transaction that made it; grows over the whole store, so it serves as an epoch.
    created_at: int
    # The session that an ephemeral node lives and dies with; NO_SESSION for a lasting one.
    owner: int


# --- operations


@value
class Create:
    """Make a node. A sequential one gets ten digits appended, growing within its parent."""

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False


@value
class SetData:
    """Replace a node's bytes if its version is `version` (ANY_VERSION: whatever it is)."""

    path: str
    data: bytes
    version: int = ANY_VERSION


@value
class Delete:
    """Remove a childless node if its version is `version`."""

    path: str
    version: int = ANY_VERSION


@value
class Check:
    """Hold if the node has this version; only inside `Multi`, to fence the writes beside it."""

    path: str
    version: int


@value
class Multi:
    """Do all of these in order, or none. How many there may be, the engine's limits say."""

    operations: tuple["WriteOperation", ...]


@value
class GetData:
    """Read a node; `watch` arms a watch on its data (not when it is missing)."""

    path: str
    watch: bool = False


@value
class GetChildren:
    """List the names of a node's children, sorted; `watch` arms a watch on that list."""

    path: str
    watch: bool = False


@value
class Exists:
    """Ask whether a node exists; `watch` also fires when a missing one is created."""

    path: str
    watch: bool = False


@value
class Reads:
    """Do all of these reads in order, each with a separate result. At least one, at most READS_MAX.

    This is one round trip instead of many; writes of other sessions may come between two reads.
    """

    operations: tuple["ReadOperation", ...]


WriteOperation: TypeAlias = Create | SetData | Delete | Check
ReadOperation: TypeAlias = GetData | GetChildren | Exists
Operation: TypeAlias = Create | SetData | Delete | Multi | GetData | GetChildren | Exists | Reads


# --- results


@value
class Created:
    """The node was made, at this path (which a sequential node learns here)."""

    path: str


@value
class Written:
    """The data was set; this is the node's version now."""

    version: int


@value
class Deleted:
    """The node is gone."""


@value
class Checked:
    """The version was the expected one."""


@value
class Committed:
    """All operations of a `Multi` were done, with these results in their order."""

    results: tuple["WriteResult", ...]


@value
class Data:
    """A node's bytes."""

    data: bytes
    stat: NodeStat


@value
class Children:
    """The names (not paths) of a node's children, sorted."""

    names: tuple[str, ...]


@value
class Existence:
    """A node's stat, or None when there is no such node."""

    stat: NodeStat | None


@value
class Failed:
    """Nothing was done, except that it is unknown after CONNECTION_LOSS."""

    fault: Fault
    path: str
    # Which operation of a Multi failed first; 0 otherwise.
    index: int = 0


ReadResult: TypeAlias = Data | Children | Existence | Failed


@value
class ReadResults:
    """The results of `Reads`, in their order."""

    results: tuple[ReadResult, ...]


WriteResult: TypeAlias = Created | Written | Deleted | Checked
Result: TypeAlias = (
    Created | Written | Deleted | Checked | Committed | Data | Children | Existence | ReadResults | Failed
)


# --- events


class NodeChange(Enum):
    """What a fired watch saw."""

    CREATED = "created"
    DELETED = "deleted"
    DATA_CHANGED = "data changed"
    CHILDREN_CHANGED = "children changed"


@value
class WatchFired:
    """An armed watch saw this; it is no longer armed."""

    path: str
    change: NodeChange


@value
class StoreReplied:
    """The result of the call with that number."""

    call_id: int
    result: Result


@value
class SessionOpened:
    """`open` began a session; its number is the `NodeStat.owner` of its ephemeral nodes."""

    session_id: int


@value
class Reconnected:
    """The session was reconnected: no watch is armed, and events of earlier watches may be lost."""


@value
class SessionEnded:
    """The session has ended: ephemeral nodes and watches are gone, every operation will fail.

    Also the answer to an `open` that failed.
    """

    is_told: bool = True
    """Whether the store said so; otherwise it is connected and was silent for the session timeout, or the
    session could not be opened."""


StoreEvent: TypeAlias = WatchFired | StoreReplied | SessionOpened | Reconnected | SessionEnded
OnStoreEvent: TypeAlias = Callable[[StoreEvent], None]


# --- the two shapes


@value
class StoreLimits:
    """What an engine takes at most; more is answered with TOO_LARGE."""

    node_bytes_max: int = NODE_BYTES_MAX
    multi_operations_max: int = MULTI_OPERATIONS_MAX
    # The data of all writes of a `Multi` together, paths included.
    multi_bytes_max: int = MULTI_BYTES_MAX


class MetadataStore(Protocol):
    """One session with the store at a time, as cores and servers hold it. No method calls back."""

    @property
    def limits(self) -> StoreLimits:
        """What the engine takes at most."""

    @property
    def lost_for_ms(self) -> int | None:
        """How long the open session has had no connection, in ms of the machine; None while it has one.

        None also while no session is open: the events say so.
        """

    def open(self, on_event: OnStoreEvent) -> None:
        """Begin a session whose events go to `on_event`; `SessionOpened` follows, or `SessionEnded`.

        Called first, and again after `SessionEnded`.
        """

    def submit(self, operation: Operation) -> int:
        """Take an operation; one `StoreReplied` with the number returned follows, in the order of submission.

        Numbers are never used twice in the life of this object.
        """

    def close(self) -> None:
        """Close the session: its ephemeral nodes are deleted now. No event follows."""


@value
class Applied:
    """What an engine did: the result, and the events it fired, each with the session that it is for."""

    result: Result
    events: tuple[tuple[int, StoreEvent], ...] = ()


class StoreEngine(Protocol):
    """The synchronous side. Calls may come from any thread, but only one at a time."""

    limits: StoreLimits

    def open_session(self, lease: bytes = b"") -> int:
        """Begin a session; its id is never used again in this store.

        `lease` is what the caller must know of the session in a later process, if it can outlive this one.
        """

    def leases(self) -> list[tuple[int, bytes]]:
        """The sessions that are alive, oldest first, each with its lease."""

    def close_session(self, session: int) -> tuple[tuple[int, StoreEvent], ...]:
        """End a session, by its holder's wish or because it was found dead; events as in `Applied`."""

    def apply(self, session: int, operation: Operation) -> Applied:
        """Execute one operation; when it returns, a write is as durable as the engine can make it."""

    def close(self) -> None:
        """Close files and release locks; open sessions end without an event."""


# --- processes: several operations in a row

T = TypeVar("T")
StoreSteps: TypeAlias = Asking[Operation, Result, T]
"""A process: steps of which some end in an operation, and are sent its result (`base.execution`)."""


class StoreRefused(OdradekError):
    """Raised inside a process for a result after which it cannot go on."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(f"{failed.path}: {failed.fault.value}")
        self.failed = failed


def run_in_session(
    store: MetadataStore, process: StoreSteps[T], done: Callable[[T | OdradekError], None]
) -> None:
    """Run a process in a session of its own, of a store that is not open, and close it.

    `done` is called once, later, with what the process returned or with the error that ended it. Nothing is
    tried again: a session that cannot be opened, or ends, ends the process.
    """
    is_open = False

    def on_event(event: StoreEvent) -> None:
        nonlocal is_open
        match event:
            case SessionOpened():
                is_open = True
                advance(None)
            case StoreReplied(_, result):
                advance(result)
            case SessionEnded():
                fault = Fault.SESSION_EXPIRED if is_open else Fault.UNREACHABLE
                end(StoreRefused(Failed(fault, ROOT)))

    def advance(result: Result | None) -> None:
        try:
            operation = next(process) if result is None else process.send(result)
            while operation is None:  # the end of a step: nothing else is served in between
                operation = next(process)
        except StopIteration as stop:
            end(stop.value)
        except OdradekError as error:
            end(error)
        else:
            store.submit(operation)

    def end(outcome: T | OdradekError) -> None:
        store.close()
        done(outcome)

    store.open(on_event)


def read_data(path: str, *, watch: bool = False) -> StoreSteps[Data | None]:
    """Read a node that may be missing. Raises StoreRefused for any other failure."""
    result = yield GetData(path, watch)
    if isinstance(result, Failed):
        if result.fault is Fault.NO_NODE:
            return None
        raise StoreRefused(result)
    assert isinstance(result, Data), result
    return result


def read_many(operations: Iterable[ReadOperation]) -> StoreSteps[list[ReadResult]]:
    """Do any number of reads, READS_MAX in one trip; the results in their order.

    `operations` may be a generator: only those of the next trip are made.

    A missing node is a result like any other. Raises StoreRefused for any other failure.
    """
    results: list[ReadResult] = []
    remaining = iter(operations)
    while trip := tuple(islice(remaining, READS_MAX)):
        answer = yield Reads(trip)
        if isinstance(answer, Failed):
            raise StoreRefused(answer)
        assert isinstance(answer, ReadResults), answer
        for result in answer.results:
            if isinstance(result, Failed) and result.fault is not Fault.NO_NODE:
                raise StoreRefused(result)
        results.extend(answer.results)
    return results


def read_children(path: str, *, watch: bool = False) -> StoreSteps[tuple[str, ...]]:
    """List the children of a node; a missing node has none. Raises StoreRefused for any other failure."""
    result = yield GetChildren(path, watch)
    if isinstance(result, Failed):
        if result.fault is Fault.NO_NODE:
            return ()
        raise StoreRefused(result)
    assert isinstance(result, Children), result
    return result.names


def ensure(path: str, data: bytes = b"") -> StoreSteps[None]:
    """Make a lasting node unless it is there. Raises StoreRefused when that fails."""
    result = yield Create(path, data)
    if isinstance(result, Failed) and result.fault is not Fault.NODE_EXISTS:
        raise StoreRefused(result)
