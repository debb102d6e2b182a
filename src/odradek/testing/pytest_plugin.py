"""The pytest plugin: fixtures that give a test a real broker.

    odradek_broker             all tests of the run share it; a test marked `odradek` has one of its own
    odradek_topic              a topic of its own for each test on that broker
    odradek_module_broker      one for each module, class, test; its clock may be moved, it may be stopped
    odradek_class_broker
    odradek_function_broker
    odradek_broker_factory     brokers made by calls

Settings come from the ini option `odradek_settings`, and over them from the marker:

    @pytest.mark.odradek(settings={"num.partitions": 3}, process=True, scope="module")
    @pytest.mark.odradek_topic(partitions=3, configs={"cleanup.policy": "compact"})

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
    wanted_by,
    wanted_without_marker,
)

if TYPE_CHECKING:
    from odradek.testing.broker import Broker

__all__ = [
    "odradek_broker",
    "odradek_broker_factory",
    "odradek_class_broker",
    "odradek_function_broker",
    "odradek_module_broker",
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
    """Declare the markers, and keep what the run has of brokers."""
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    brokers = config.stash[BROKERS] = Brokers(config)
    config.add_cleanup(brokers.close)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a marked test a broker of its own as its `odradek_broker`, in the scope that the marker names.

    What is wrong with a marker is said when its test is set up: the module's other tests run.
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
    """Note how much brokers have logged before the test; refuse a marker that could have no effect."""
    try:
        _check_marker(item)
    except MarkerError as error:
        pytest.fail(str(error), pytrace=False)
    item.config.stash[BROKERS].note_logs()


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Let no fault of the test reach those that come later, nor the end of its own fixtures."""
    item.config.stash[BROKERS].clear_faults()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what brokers in processes of their own logged during a test to the report of its failure."""
    report = yield
    if report.failed:
        report.sections += item.config.stash[BROKERS].logged()
    return report


@pytest.fixture(scope="session")
def odradek_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """The broker that all tests of the run share; of a test marked `odradek`, one of its own."""
    wanted: Wanted | None = getattr(request, "param", None)
    brokers = request.config.stash[BROKERS]
    if wanted is None:
        yield brokers.shared()
    else:
        with brokers.make(wanted) as broker:
            yield broker


@pytest.fixture(scope="module")
def odradek_module_broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A broker for the tests of one module; what they do to it and to its clock stays there."""
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
    """The name of a fresh topic, deleted after the test if the test has not done so."""
    marker = request.node.get_closest_marker("odradek_topic")
    topic = odradek_broker.create_topic(**({} if marker is None else marker.kwargs))
    yield topic
    odradek_broker.discard_topic(topic)


@pytest.fixture
def odradek_broker_factory(request: pytest.FixtureRequest) -> Iterator[Callable[..., Broker]]:
    """Call it with the arguments of `odradek.testing.Broker`; what it started is removed after the test."""
    brokers = request.config.stash[BROKERS]
    with ExitStack() as started:

        def make(**arguments: Any) -> Broker:  # noqa: ANN401 - those of `Broker`
            __tracebackhide__ = True
            return started.enter_context(brokers.make_with(**arguments))

        yield make


def _check_marker(item: pytest.Item) -> None:
    """Raises MarkerError for a test whose marker cannot be read, or could have no effect."""
    taken = {"odradek_broker", "odradek_function_broker"} & set(getattr(item, "fixturenames", ()))
    is_marked_itself = any(marker.name == "odradek" for marker in item.own_markers)
    if not taken and not is_marked_itself:
        return
    wanted = wanted_by(item)
    if not taken:
        raise MarkerError(
            f"{item.nodeid} is marked odradek, and takes neither odradek_broker nor odradek_function_broker:"
            " the marker has no effect on the brokers of others"
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
    """A broker as the marker of the test, class or module says."""
    wanted = wanted_by(request.node) or wanted_without_marker()
    return request.config.stash[BROKERS].make(wanted)
