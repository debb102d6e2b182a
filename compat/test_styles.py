"""Styles of Kafka tests that public projects have, each against the pytest fixture: no Docker, no sleeps.

Each file in `styles` is an example to copy. It runs away from the checkout, on the built wheel, in the one of
the ENVIRONMENTS that names it; styles whose dependencies exclude each other are in different ones.
"""

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from tools.wheel_check.environments import Environment, build_wheel

pytestmark = pytest.mark.one_broker("each style starts its broker by the pytest fixture")

STYLES = Path(__file__).parent / "styles"

ENVIRONMENTS = (
    Environment(
        "clients",
        extras="",
        beside=(
            "pytest",
            "pytest-asyncio",
            "confluent-kafka[avro,schemaregistry]==2.*",
            "faststream[confluent,kafka]==0.7.*",
            "faust-streaming==0.15.*",
            "kafka-python==3.*",
        ),
        tried=(
            "test_broker_dies.py",
            "test_confluent_kafka.py",
            "test_faststream_aiokafka.py",
            "test_faststream_confluent.py",
            "test_faust.py",
            "test_kafka_python.py",
            "test_outbox.py",
            "test_schema_registry.py",
        ),
        folder=STYLES,
    ),
    # Quix Streams takes no confluent-kafka from 2.13 on.
    Environment(
        "quix",
        extras="",
        beside=("pytest", "quixstreams==3.*"),
        tried=("test_quix_streams.py",),
        folder=STYLES,
    ),
    # ddtrace has a pytest plugin of its own and patches confluent-kafka.
    Environment(
        "tracing",
        extras="",
        beside=(
            "pytest",
            "confluent-kafka==2.*",
            "ddtrace==4.*",
            "opentelemetry-instrumentation-confluent-kafka",
            "opentelemetry-sdk==1.*",
        ),
        tried=("test_tracing_ddtrace.py", "test_tracing_opentelemetry.py"),
        folder=STYLES,
    ),
)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Environment], Path]:
    """The directory of an environment, which is made at its first use."""

    @cache
    def wheel() -> Path:
        return build_wheel(tmp_path_factory.mktemp("wheel"))

    @cache
    def install(environment: Environment) -> Path:
        directory = tmp_path_factory.mktemp("style") / environment.name
        environment.install(Path(sys.executable), wheel(), directory)
        return directory

    return install


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        pytest.param(each, name, id=name.removeprefix("test_").removesuffix(".py"))
        for each in ENVIRONMENTS
        for name in each.tried
    ],
)
def test_style(installed: Callable[[Environment], Path], environment: Environment, name: str) -> None:
    outcome = environment.run(installed(environment), name)
    assert " passed" in outcome
    assert "skipped" not in outcome


def test_every_style_is_run() -> None:
    named = [name for each in ENVIRONMENTS for name in each.tried]
    assert sorted(named) == sorted(path.name for path in STYLES.glob("*.py"))
