"""The package for executors: a zip of the modules that tasks import, named by its content.

Executors need Spark, pyarrow and numpy, and nothing of ours: the driver's Spark brings them this zip, and
their Python imports from it. It is named by the content of the modules, which always make the same bytes: a
file that is in the cache under its name is the right one, and several processes may make it at the same time.
"""

import hashlib
import io
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from uuid import uuid4

import odradek
from odradek.base.errors import OdradekError
from odradek.base.system_errors import reason_of

ROOMS: Final = ("base", "client", "net", "records", "spark", "storage", "timer", "wire")
"""Those that tasks need, and what these import."""
_WITHOUT: Final = ("wire/generator/",)
# The first moment that a zip can have.
_MOMENT: Final = (1980, 1, 1, 0, 0, 0)
_MODE: Final = 0o644 << 16


def package_zip(cache: Path) -> Path:
    """The zip, below `cache`; made if it is not there. Raises OdradekError if it cannot be written."""
    modules = _modules(Path(odradek.__file__).parent)
    file = cache / "executors" / f"odradek-{_digest(modules)}.zip"
    if file.is_file():
        return file
    beside = file.with_name(f"{uuid4().hex}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(_zipped(modules))
        os.replace(beside, file)
    except OSError as error:
        reason = reason_of(error)
        raise OdradekError(
            f"the package for executors cannot be kept in {file.parent}: {reason}; set ODRADEK_CACHE"
        ) from None
    return file


def _modules(package: Path) -> dict[str, bytes]:
    """The content of each module by its name in the zip."""
    files = [package / "__init__.py"]
    for room in ROOMS:
        files += sorted((package / room).rglob("*.py"))
    names = {file.relative_to(package).as_posix(): file for file in files}
    return {
        f"odradek/{name}": file.read_bytes() for name, file in names.items() if not name.startswith(_WITHOUT)
    }


def _digest(modules: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, content in modules.items():
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()[:16]


def _zipped(modules: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in modules.items():
            entry = zipfile.ZipInfo(name, _MOMENT)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = _MODE
            archive.writestr(entry, content)
    return made.getvalue()
