"""Which masters there are, and which of Spark's settings a description may have."""

import os

import pytest

from odradek.base.errors import SettingError
from odradek.spark.master import check_master, check_settings, cores_of, is_local


@pytest.mark.parametrize("master", ["local", "local[1]", "local[*]", "local[4]", "local[*,3]", "local[2, 3]"])
def test_local_masters(master: str) -> None:
    assert check_master(master, "--master") == master
    assert is_local(master)


@pytest.mark.parametrize(
    "master",
    ["spark://host:7077", "spark://a:7077,b:7077", "yarn", "k8s://https://host:6443", "k8s://host:6443"],
)
def test_clusters(master: str) -> None:
    assert check_master(master, "--master") == master
    assert not is_local(master)


@pytest.mark.parametrize(
    "master",
    ["", "local[0]", "local[x]", "local[2]x", "spark://host", "host:7077", "sc://host:15002", "mesos://a:1"],
)
def test_other_masters_are_refused(master: str) -> None:
    with pytest.raises(SettingError, match=r"--master must be one of local, local\[4\], .* not "):
        check_master(master, "--master")


def test_how_many_tasks_run_at_once() -> None:
    assert [cores_of(one) for one in ("local", "local[3]", "local[4,2]")] == [1, 3, 4]
    assert cores_of("local[*]") == os.cpu_count()


def test_settings_are_given_as_spark_takes_them() -> None:
    given = {"spark.executor.cores": 2, "spark.speculation": True, "spark.executor.memory": "4g"}
    assert check_settings(given, "settings") == {
        "spark.executor.cores": "2",
        "spark.speculation": "true",
        "spark.executor.memory": "4g",
    }


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"executor.memory": "4g"}, "the names of Spark's settings begin with spark."),
        ({"spark.master": "yarn"}, "cannot have spark.master: give master in"),
        ({"spark.submit.deployMode": "cluster"}, "cannot have spark.submit.deployMode: the driver is"),
        ({"spark.executor.memory": ["4g"]}, "spark.executor.memory must be text, a number, true or false"),
    ],
)
def test_settings_that_are_refused(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingError) as refused:
        check_settings(given, "a.toml: spark.settings")
    assert sentence in str(refused.value)
