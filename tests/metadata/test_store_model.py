"""A Hypothesis machine that holds a store engine to a model: plain dictionaries, copied before each write."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from odradek.metadata.embedded import EmbeddedEngine
from odradek.metadata.memory import MemoryTable
from odradek.metadata.store import (
    ANY_VERSION,
    Check,
    Children,
    Committed,
    Create,
    Data,
    Delete,
    Failed,
    Fault,
    GetChildren,
    GetData,
    Multi,
    Operation,
    SetData,
    StoreEngine,
    WriteOperation,
)
from odradek.metadata.tree import TreeEngine
from tests.server.process.zookeeper_worlds import ZooKeeperEngine, ZooKeeperWorld, server_or_skip

NAMES = ("a", "b")
PATHS = [f"/{x}" for x in NAMES] + [f"/{x}/{y}" for x in NAMES for y in NAMES]
VERSIONS = st.sampled_from([ANY_VERSION, 0, 1, 2])
DATA = st.binary(max_size=3)
WRITES: st.SearchStrategy[WriteOperation] = st.one_of(
    st.builds(Create, st.sampled_from(PATHS), DATA, st.booleans(), st.booleans()),
    st.builds(SetData, st.sampled_from(PATHS), DATA, VERSIONS),
    st.builds(Delete, st.sampled_from(PATHS), VERSIONS),
    st.builds(Check, st.sampled_from(PATHS), VERSIONS),
)


@dataclass(frozen=True)
class ModelNode:
    data: bytes = b""
    version: int = 0
    owner: int = 0
    children_made: int = 0


class StoreModel:
    """The whole store as one dictionary of immutable nodes."""

    def __init__(self) -> None:
        self.nodes: dict[str, ModelNode] = {"/": ModelNode()}

    @staticmethod
    def parent(path: str) -> str:
        return path.rsplit("/", 1)[0] or "/"

    def children(self, path: str) -> tuple[str, ...]:
        found = (other for other in self.nodes if other != "/" and self.parent(other) == path)
        return tuple(sorted(other.rsplit("/", 1)[1] for other in found))

    def write(self, session: int, operation: WriteOperation) -> Fault | None:
        path, nodes = operation.path, self.nodes
        if isinstance(operation, Create):
            parent = nodes.get(self.parent(path))
            if parent is None:
                return Fault.NO_NODE
            if parent.owner:
                return Fault.NO_CHILDREN_FOR_EPHEMERALS
            path += f"{parent.children_made:010d}" if operation.sequential else ""
            if path in nodes:
                return Fault.NODE_EXISTS
            nodes[self.parent(path)] = replace(parent, children_made=parent.children_made + 1)
            nodes[path] = ModelNode(operation.data, owner=session if operation.ephemeral else 0)
            return None
        node = nodes.get(path)
        if node is None:
            return Fault.NO_NODE
        if operation.version not in (ANY_VERSION, node.version):
            return Fault.BAD_VERSION
        if isinstance(operation, SetData):
            nodes[path] = replace(node, data=operation.data, version=node.version + 1)
        if isinstance(operation, Delete):
            if self.children(path):
                return Fault.NOT_EMPTY
            del nodes[path]
        return None

    def multi(self, session: int, operations: tuple[WriteOperation, ...]) -> Fault | None:
        before = dict(self.nodes)
        for operation in operations:
            fault = self.write(session, operation)
            if fault is not None:
                self.nodes = before
                return fault
        return None

    def end(self, session: int) -> None:
        self.nodes = {path: node for path, node in self.nodes.items() if node.owner != session}


class StoreMachine(RuleBasedStateMachine):
    """Two sessions write at random; after every step the engine holds what the model holds."""

    def make_engine(self) -> StoreEngine:
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.engine = self.make_engine()
        self.reader = self.engine.open_session()
        self.sessions = [self.engine.open_session(), self.engine.open_session()]
        self.model = StoreModel()

    @rule(which=st.integers(0, 1), operation=WRITES)
    def write(self, which: int, operation: WriteOperation) -> None:
        alone: Operation = Multi((operation,)) if isinstance(operation, Check) else operation
        result = self.engine.apply(self.sessions[which], alone).result
        expected = self.model.write(self.sessions[which], operation)
        assert (result.fault if isinstance(result, Failed) else None) is expected

    @rule(which=st.integers(0, 1), operations=st.lists(WRITES, max_size=4).map(tuple))
    def write_all_or_nothing(self, which: int, operations: tuple[WriteOperation, ...]) -> None:
        result = self.engine.apply(self.sessions[which], Multi(operations)).result
        expected = self.model.multi(self.sessions[which], operations)
        if expected is None:
            assert isinstance(result, Committed)
        else:
            assert isinstance(result, Failed)
            assert result.fault is expected

    @rule(which=st.integers(0, 1))
    def end_session(self, which: int) -> None:
        self.engine.close_session(self.sessions[which])
        self.model.end(self.sessions[which])
        self.sessions[which] = self.engine.open_session()

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        for path, expected in self.model.nodes.items():
            data = self.engine.apply(self.reader, GetData(path)).result
            assert isinstance(data, Data), f"{path} is missing"
            assert (data.data, data.stat.version, data.stat.owner) == (
                expected.data,
                expected.version,
                expected.owner,
            )
            listed = self.engine.apply(self.reader, GetChildren(path)).result
            assert listed == Children(self.model.children(path))

    def teardown(self) -> None:
        self.engine.close()


class MemoryMachine(StoreMachine):
    def make_engine(self) -> StoreEngine:
        return TreeEngine(MemoryTable())


class EmbeddedMachine(StoreMachine):
    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        super().__init__()

    def make_engine(self) -> StoreEngine:
        return EmbeddedEngine(Path(self.folder.name) / "metadata.sqlite")

    def teardown(self) -> None:
        super().teardown()
        self.folder.cleanup()


class ZooKeeperMachine(StoreMachine):
    def make_engine(self) -> StoreEngine:
        return ZooKeeperEngine(ZooKeeperWorld(server_or_skip()))


TestMemory = pytest.mark.slow(MemoryMachine.TestCase)
TestMemory.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)
TestEmbedded = pytest.mark.slow(EmbeddedMachine.TestCase)
TestEmbedded.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
TestZooKeeper = pytest.mark.slow(ZooKeeperMachine.TestCase)
TestZooKeeper.settings = settings(max_examples=8, stateful_step_count=12, deadline=None)
