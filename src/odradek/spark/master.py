"""Where Spark runs: which masters there are, and which of them are this machine.

The names are Spark's (https://spark.apache.org/docs/4.1.1/submitting-applications.html#master-urls).
"""

import os
import re
from collections.abc import Mapping
from typing import Any, Final

from odradek.base.errors import SettingError

LOCAL: Final = "local[*]"
"""The default: this machine, with all its cores."""
FORMS: Final = "local, local[4], local[*], spark://HOST:PORT, yarn or k8s://https://HOST:PORT"

_LOCAL: Final = re.compile(r"local(\[(\*|[1-9][0-9]*)(\s*,\s*[1-9][0-9]*)?\])?")
_CLUSTERS: Final = (
    re.compile(r"spark://[^\s,/:]+:[0-9]{1,5}(,[^\s,/:]+:[0-9]{1,5})*"),
    re.compile(r"yarn"),
    re.compile(r"k8s://[^\s/]\S*"),
)
# Each with what says the same here, or why it cannot be another.
_FIXED: Final = {
    "spark.master": "give master in [spark], or --master",
    "spark.remote": "give master in [spark]; Spark Connect is none",
    "spark.app.name": "it is the name of the pipeline",
    "spark.submit.deployMode": "the driver is the process of odradek, which is Spark's mode client",
    "spark.sql.session.timeZone": "columns with times are in UTC",
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": (
        "only version 1 shows no files of a task that failed"
    ),
}


def check_master(master: str, setting: str) -> str:
    """The master, if it is one of FORMS. Raises SettingError, which names `setting`."""
    if _LOCAL.fullmatch(master) or any(one.fullmatch(master) for one in _CLUSTERS):
        return master
    raise SettingError(f"{setting} must be one of {FORMS}, not {master!r}")


def is_local(master: str) -> bool:
    """Whether all tasks run in this machine's one JVM, so that nothing has to be brought to them."""
    return _LOCAL.fullmatch(master) is not None


def cores_of(master: str) -> int:
    """How many tasks a local master runs at once."""
    found = _LOCAL.fullmatch(master)
    assert found is not None, master
    if found[2] is None:
        return 1
    return (os.cpu_count() or 1) if found[2] == "*" else int(found[2])


def check_settings(given: Mapping[str, Any], where: str) -> dict[str, str]:
    """Settings of Spark's as it takes them, from values of TOML. Raises SettingError."""
    found = {}
    for name, value in given.items():
        if not name.startswith("spark."):
            raise SettingError(f"{where}.{name}: the names of Spark's settings begin with spark.")
        if name in _FIXED:
            raise SettingError(f"{where} cannot have {name}: {_FIXED[name]}")
        if not isinstance(value, str | int | float):
            raise SettingError(f"{where}: {name} must be text, a number, true or false")
        found[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return found
