"""The pytest plugin: fixtures that give a test a real broker.

    odradek_broker             shared by all tests of the run; a test marked `odradek` gets a separate one
    odradek_topic              a new topic for each test, on that broker
    odradek_module_broker      one for each module, class, test; the test may move its clock and stop it
    odradek_class_broker
    odradek_function_broker
    odradek_broker_factory     brokers made by calls
    odradek_cluster            a cluster of three brokers for one test; the test may kill them
    odradek_session_cluster    one that all tests of the run share

Settings come from the ini option `odradek_settings`; those of the marker override them:

    @pytest.mark.odradek(settings={"num.partitions": 3}, process=True, scope="module")
    @pytest.mark.odradek_topic(partitions=3, configs={"cleanup.policy": "compact"})
    @pytest.mark.odradek_cluster(brokers=5, settings={"min.insync.replicas": 2})

Every pytest run on the machine imports this file; it imports the broker only when a test asks for one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from odradek.testing.pytest_brokers import (
    BROKERS,
    Brokers,
    MarkerError,
    Wanted,
    cluster_wanted_by,
    wanted_by,
    wanted_without_marker,
)

if TYPE_CHECKING:
    from odradek.testing.broker import Broker
    from odradek.testing.local_cluster import LocalCluster

__all__ = [
    "odradek_broker",
    "odradek_broker_factory",
    "odradek_class_broker",
    "odradek_cluster",
    "odradek_function_broker",
    "odradek_module_broker",
    "odradek_session_cluster",
    "odradek_topic",
    "pytest_addoption",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_runtest_makereport",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
]

_MARKERS = (
    "odradek(settings=None, process=False, scope='function', follow_patched_time=False): a broker of its own"
    " for the test, class or module that is marked",
    "odradek_cluster(brokers=3, log_dirs=1, settings=None): how the cluster of odradek_cluster is made",
    "odradek_topic(partitions=1, configs=None): how the topic of odradek_topic is made",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the ini options."""
    parser.addini(
        "odradek_settings", "broker settings for all fixtures, one name=value per line", "linelist", []
    )
    parser.addini(
        "odradek_process", "whether the fixtures' brokers run in processes of their own", "bool", False
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, and create the `Brokers` of this run."""
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    brokers = config.stash[BROKERS] = Brokers(config)
    config.add_cleanup(brokers.close)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a marked test a separate broker as its `odradek_broker`, in the scope that the marker names.

    A bad marker is reported at the setup of its test, so the module's other tests run.
    """
    try:
        wanted = wanted_by(metafunc.definition)
    except MarkerError:
        return
    if wanted is not None and "odradek_broker" in metafunc.fixturenames:
        wanted = metafunc.config.stash[BROKERS].same(wanted)
        hidden = getattr(
            pytest, "HIDDEN_PARAM", "own"
        )  # pytest 8.4 and later leave it out of the test's name
        metafunc.parametrize("odradek_broker", [wanted], indirect=True, ids=[hidden], scope=wanted.scope)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Remember where each log ends before the test; refuse a marker that could have no effect."""
    try:
        _check_marker(item)
    except MarkerError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    item.config.stash[BROKERS].note_logs()


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Remove the test's faults before its fixtures end and before later tests begin."""
    item.config.stash[BROKERS].clear_faults()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the logs of brokers in separate processes, and of clusters, to the report of a failed test."""
    report = yield
    if report.failed:
        report.sections += item.config.stash[BROKERS].logged()
    return report


@pytest.fixture(scope="session")
def odradek_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """The broker that all tests of the run share; a test marked `odradek` gets a separate one."""
    wanted: Wanted | None = getattr(request, "param", None)
    brokers = request.config.stash[BROKERS]
    if wanted is None:
        yield brokers.shared()
    else:
        with brokers.make(wanted) as broker:
            yield broker


@pytest.fixture(scope="module")
def odradek_module_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A broker for the tests of one module; other modules never see what these do to it and its clock."""
    with _marked(request) as broker:
        yield broker


@pytest.fixture(scope="class")
def odradek_class_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A broker for the tests of one class."""
    with _marked(request) as broker:
        yield broker


@pytest.fixture
def odradek_function_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A broker for one test."""
    with _marked(request) as broker:
        yield broker


@pytest.fixture
def odradek_topic(request: pytest.FixtureRequest, odradek_broker: Broker) -> Iterator[str]:
    """The name of a new topic; it is deleted after the test, unless the test has deleted it."""
    marker = request.node.get_closest_marker("odradek_topic")
    topic = odradek_broker.create_topic(**({} if marker is None else marker.kwargs))
    yield topic
    odradek_broker.discard_topic(topic)


@pytest.fixture
def odradek_broker_factory(request: pytest.FixtureRequest) -> Iterator[Callable[..., Broker]]:
    """Call it with the arguments of `odradek.testing.Broker`; the brokers are removed after the test."""
    brokers = request.config.stash[BROKERS]
    with ExitStack() as started:

        def make(**arguments: Any) -> Broker:  # noqa: ANN401 - those of `Broker`
            __tracebackhide__ = True
            return started.enter_context(brokers.make_with(**arguments))

        yield make


@pytest.fixture
def odradek_cluster(request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    """A cluster for one test, which may kill its brokers."""
    with request.config.stash[BROKERS].make_cluster(cluster_wanted_by(request.node)) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def odradek_session_cluster(request: pytest.FixtureRequest) -> LocalCluster:
    """The cluster that all tests of the run share; after each test its brokers are started again."""
    return request.config.stash[BROKERS].shared_cluster()


def _check_cluster_marker(item: pytest.Item) -> None:
    """Raises MarkerError for a marker odradek_cluster that is malformed or could have no effect."""
    cluster_wanted_by(item)
    is_marked_itself = any(marker.name == "odradek_cluster" for marker in item.own_markers)
    if is_marked_itself and "odradek_cluster" not in getattr(item, "fixturenames", ()):
        raise MarkerError(
            f"{item.nodeid} is marked odradek_cluster, but does not use that fixture: the marker has no"
            " effect on odradek_session_cluster, which is shared"
        )


def _check_marker(item: pytest.Item) -> None:
    """Raises MarkerError for a test whose marker is malformed or could have no effect."""
    _check_cluster_marker(item)
    taken = {"odradek_broker", "odradek_function_broker"} & set(getattr(item, "fixturenames", ()))
    is_marked_itself = any(marker.name == "odradek" for marker in item.own_markers)
    if not taken and not is_marked_itself:
        return
    wanted = wanted_by(item)
    if not taken:
        raise MarkerError(
            f"{item.nodeid} is marked odradek, but uses neither odradek_broker nor odradek_function_broker:"
            " the marker has no effect on brokers that are shared"
        )
    if wanted is None or "odradek_broker" not in taken:
        return
    call = getattr(item, "callspec", None)
    if any(marker.name == "odradek" for marker in getattr(call, "marks", ())):
        raise MarkerError(
            f"{item.nodeid}: the marker odradek in pytest.param(..., marks=...) has no effect on"
            " odradek_broker, which may be one for several tests: take odradek_function_broker instead"
        )
    if "odradek_broker" not in getattr(call, "params", ()):
        raise MarkerError(
            f"{item.nodeid} is marked odradek, which has no effect in a unittest.TestCase:"
            " start a Broker in its setUp"
        )


def _marked(request: pytest.FixtureRequest) -> Broker:
    """The broker that the marker of the test, class or module asks for."""
    wanted = wanted_by(request.node) or wanted_without_marker()
    return request.config.stash[BROKERS].make(wanted)
