"""Brokers, clients and fresh topics for the suite.

A test names what it needs: `client` runs it once for each client, `writer` once for each client whose
records all others read, `admin` once for each admin client, `shell` once for `odradek` and once for
`odradek.aio`, `tools` with Apache Kafka's own programs.
`needs(Ability...)` skips clients without that ability. Every test runs on every `--target`. With
`--brokers 3` Odradek is a cluster in which topics have three replicas, and tests marked `one_broker` are
skipped; without it, those marked `three_brokers`. `--essential` leaves a few tests, marked so, with one
client of each language. What takes minutes is marked `long`, and runs with `--long` only.
"""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from peers import BROKERS, DEFAULT_BROKERS, BrokerProcess, KafkaTools, OdradekBroker, OdradekCluster
from peers.process import HOST
from peers.short_spark import use_short_jvms
from peers.waiting import wait_until

from compat.admins import ADMINS, Admin
from compat.admins.confluent import ConfluentAdmin
from compat.clients import CLIENTS, Ability, Client
from compat.commands import Cli
from compat.lanes import Lanes
from compat.served import served_apis
from compat.shells import SHELLS, Blocking
from odradek.cli.main import run
from odradek.net.blocking_connection import BrokerConnection

collect_ignore = ["styles"]  # run by test_styles.py, in environments of their own

ONE_PER_LANGUAGE = ("confluent-kafka", "java", "franz-go", "kafkajs")
"""The client of each language that `--essential` keeps."""
BROKER_SETTINGS = {
    "num.partitions": "1",
    "auto.create.topics.enable": "true",
    # So that a test gets a log of several segments without writing gigabytes.
    "log.segment.bytes": str(16 * 1024 * 1024),
    # So that the memberships and transactions of a killed client end soon.
    "group.min.session.timeout.ms": "1000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which brokers are tested."""
    parser.addoption(
        "--target",
        action="append",
        choices=sorted(BROKERS),
        help="the broker to run on (may be repeated; default: odradek, then kafka; with --brokers 3 odradek)",
    )
    parser.addoption(
        "--brokers",
        type=int,
        choices=(1, OdradekCluster.count),
        default=1,
        help="how many brokers Odradek runs: 3 are a cluster with three replicas of each topic",
    )

    parser.addoption(
        "--essential",
        action="store_true",
        help=f"the tests that are marked so, with one client of each language: {', '.join(ONE_PER_LANGUAGE)}",
    )
    parser.addoption(
        "--all-failures", action="store_true", help="every combination of failures of test_replication.py"
    )
    parser.addoption("--long", action="store_true", help="also the tests that take minutes each")


def pytest_configure(config: pytest.Config) -> None:
    """Markers of this suite, and short-lived JVMs for Spark."""
    use_short_jvms()
    config.addinivalue_line("markers", "needs(*abilities): leave out clients without these abilities")
    config.addinivalue_line("markers", "needs_api(*names): leave out brokers that do not serve these APIs")
    config.addinivalue_line("markers", "one_broker(reason): left out with --brokers 3")
    config.addinivalue_line("markers", "three_brokers: left out without --brokers 3")
    config.addinivalue_line("markers", "essential: what --essential runs")
    config.addinivalue_line("markers", "failures(*combinations): those that run without --all-failures")
    config.addinivalue_line("markers", "long: left out without --long")
    config.addinivalue_line("markers", "kip848: the protocol of consumer groups in which the broker assigns")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Callable[..., None]) -> Lanes:
    """A worker for each broker."""
    return Lanes(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip the tests that have nothing to do with so many brokers, and leave out what is not wanted."""
    is_cluster = config.getoption("--brokers") > 1
    for test in items:
        mark = test.get_closest_marker("one_broker")
        if mark is not None and is_cluster:
            test.add_marker(pytest.mark.skip(reason=mark.args[0]))
        if test.get_closest_marker("three_brokers") is not None and not is_cluster:
            test.add_marker(pytest.mark.skip(reason="runs with --brokers 3"))
    wanted = [test for test in items if _is_wanted(config, test)]
    config.hook.pytest_deselected(items=list(set(items) - set(wanted)))
    items[:] = wanted


def _is_wanted(config: pytest.Config, test: pytest.Item) -> bool:
    values = getattr(test, "callspec", None)
    parameters: dict[str, object] = {} if values is None else values.params
    failures = test.get_closest_marker("failures")
    if failures is not None and not config.getoption("--all-failures"):
        combination = tuple(parameters[name] for name in ("target", "failure", "acks", "codec"))
        if combination not in failures.args:
            return False
    if test.get_closest_marker("long") is not None and not config.getoption("--long"):
        return False
    if not config.getoption("--essential"):
        return True
    clients = [parameters[name] for name in ("client", "writer", "library") if name in parameters]
    return test.get_closest_marker("essential") is not None and set(clients) <= set(ONE_PER_LANGUAGE)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One run of each test for each broker, and for each client or admin client that it asks for."""
    if "broker" in metafunc.fixturenames:
        default = DEFAULT_BROKERS if metafunc.config.getoption("--brokers") == 1 else (OdradekBroker.name,)
        targets = metafunc.config.getoption("--target") or list(default)
        metafunc.parametrize("broker", targets, indirect=True, scope="session")
    needed = _needed(metafunc.definition)
    able = [name for name, client in CLIENTS.items() if needed <= client.abilities]
    for role in ("client", "writer"):
        if role in metafunc.fixturenames:
            metafunc.parametrize(role, able, indirect=True)
    if "shell" in metafunc.fixturenames:
        metafunc.parametrize("shell", list(SHELLS), indirect=True)
    if "admin" in metafunc.fixturenames:
        metafunc.parametrize("admin", list(ADMINS), indirect=True)


def _needed(test: pytest.Item) -> set[Ability]:
    mark = test.get_closest_marker("needs")
    return set(mark.args) if mark else set()


@pytest.fixture(scope="session")
def broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerProcess]:
    """A running broker of the target's kind, or a cluster, one for the whole suite."""
    kind = BROKERS[request.param]
    if kind is OdradekBroker and request.config.getoption("--brokers") > 1:
        kind = OdradekCluster
    with kind(tmp_path_factory.mktemp(kind.name), BROKER_SETTINGS) as running:
        yield running


@pytest.fixture(autouse=True)
def _needs_api(request: pytest.FixtureRequest) -> None:
    """Skip tests of APIs that the broker does not serve yet."""
    needed = {name for mark in request.node.iter_markers("needs_api") for name in mark.args}
    if needed:
        broker: BrokerProcess = request.getfixturevalue("broker")
        missing = needed - served_apis(broker.bootstrap)
        if missing:
            pytest.skip(f"{broker.name} does not serve {', '.join(sorted(missing))}")


@pytest.fixture(scope="session")
def all_clients(request: pytest.FixtureRequest, broker: BrokerProcess) -> Iterator[dict[str, Client]]:
    """Every client that can run on this machine and is wanted, by name."""
    wanted = ONE_PER_LANGUAGE if request.config.getoption("--essential") else tuple(CLIENTS)
    able = {
        name: kind(broker.bootstrap)
        for name, kind in CLIENTS.items()
        if name in wanted and not kind.missing()
    }
    yield able
    for each in able.values():
        each.close()


@pytest.fixture
def client(request: pytest.FixtureRequest, all_clients: dict[str, Client]) -> Client:
    """Each client in turn."""
    if request.param not in all_clients:
        pytest.skip(CLIENTS[request.param].missing())
    return all_clients[request.param]


@pytest.fixture
def writer(request: pytest.FixtureRequest, all_clients: dict[str, Client]) -> Client:
    """Each client in turn, for tests in which all other clients read."""
    if request.param not in all_clients:
        pytest.skip(CLIENTS[request.param].missing())
    return all_clients[request.param]


@pytest.fixture
def readers(request: pytest.FixtureRequest, all_clients: dict[str, Client]) -> list[Client]:
    """All clients with the abilities that the test needs."""
    needed = _needed(request.node)
    return [each for each in all_clients.values() if needed <= each.abilities]


@pytest.fixture
def admin(request: pytest.FixtureRequest, broker: BrokerProcess) -> Admin:
    """Each admin client in turn."""
    return ADMINS[request.param](broker.bootstrap, len(broker.ports))


@pytest.fixture
def shell(request: pytest.FixtureRequest, broker: BrokerProcess) -> Iterator[Blocking]:
    """Our clients, those of `odradek` and of `odradek.aio` in turn."""
    opened = SHELLS[request.param](broker.bootstrap)
    yield opened
    opened.close()


@pytest.fixture
def tools(broker: BrokerProcess) -> KafkaTools:
    """Apache Kafka's own programs, for the broker."""
    return KafkaTools(broker.bootstrap)


@pytest.fixture
def cli(broker: BrokerProcess, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs commands of `odradek` on the broker (see `compat.commands`)."""
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVERS", broker.bootstrap)

    def type_in(*arguments: str, code: int = 0) -> str:
        capfd.readouterr()
        ended = run(arguments)
        printed = capfd.readouterr()
        assert ended == code, printed
        if code:
            assert len(printed.err.splitlines()) == 1, printed.err
        return printed.err if code else printed.out

    return type_in


@pytest.fixture
def connection(broker: BrokerProcess) -> Iterator[BrokerConnection]:
    """A connection for raw requests, only for this test; `new_topic(led_by=broker.port)` is led there."""
    with BrokerConnection(HOST, broker.port) as opened:
        yield opened


@pytest.fixture
def data_directory(broker: BrokerProcess) -> Path:
    """Where the broker keeps its partitions; in a cluster, one broker's replicas of all partitions."""
    return broker.data_directory


_topic_numbers = itertools.count()


@pytest.fixture
def fresh_name() -> Callable[[], str]:
    """Unused topic names."""
    return lambda: f"compat-{next(_topic_numbers)}"


@pytest.fixture
def new_topic(broker: BrokerProcess, fresh_name: Callable[[], str]) -> Callable[..., str]:
    """Make a topic for this test only: `new_topic(partitions=3, retention_ms=1000)`; returns its name.

    `led_by` is the port of the broker that leads all partitions; without it the brokers decide.
    """

    maker = ConfluentAdmin(broker.bootstrap, len(broker.ports))

    def make(partitions: int = 1, led_by: int | None = None, **settings: object) -> str:
        name = fresh_name()
        named = {key.replace("_", "."): str(value) for key, value in settings.items()}
        if led_by is None:
            maker.create_topic(name, partitions=partitions, settings=named)
        else:
            brokers = maker.cluster().brokers
            replicas = sorted(brokers, key=lambda one: brokers[one][1] != led_by)
            maker.create_topic_on(name, [replicas] * partitions, settings=named)
        wait_until(lambda: name in maker.topics(), "the topic is never listed")
        return name

    return make


@pytest.fixture
def lasting_topic(new_topic: Callable[..., str]) -> str:
    """A topic whose records never expire, for records with timestamps of years ago."""
    return new_topic(retention_ms=-1)


@pytest.fixture
def topic(new_topic: Callable[..., str]) -> str:
    """A topic with one partition, only for this test."""
    return new_topic()
