"""The package for executors: a zip of the modules that tasks import, named by its content.

Executors need Spark, pyarrow and numpy, and nothing of ours: the driver's Spark brings them this zip, and
their Python imports from it. The same modules always make the same bytes, so that a file that is in the cache
under its name is the right one, and several processes may make it at the same time.
"""

import hashlib
import io
import os
import zipfile
from pathlib import Path
from typing import Final
from uuid import uuid4

import odradek
from odradek.base.errors import OdradekError

ROOMS: Final = ("base", "client", "net", "records", "spark", "storage", "timer", "wire")
"""Those that tasks need, and what these import."""
_WITHOUT: Final = ("wire/generator/",)
# The first moment that a zip can have.
_MOMENT: Final = (1980, 1, 1, 0, 0, 0)
_MODE: Final = 0o644 << 16


def package_zip(cache: Path) -> Path:
    """The zip, below `cache`; made if it is not there. Raises OdradekError if it cannot be written."""
    content = _zipped(Path(odradek.__file__).parent)
    file = cache / "executors" / f"odradek-{hashlib.sha256(content).hexdigest()[:16]}.zip"
    if file.is_file():
        return file
    beside = file.with_name(f"{uuid4().hex}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(content)
        os.replace(beside, file)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OdradekError(
            f"the package for executors cannot be kept in {file.parent}: {reason}; set ODRADEK_CACHE"
        ) from None
    return file


def _zipped(package: Path) -> bytes:
    modules = [package / "__init__.py"]
    for room in ROOMS:
        modules += sorted((package / room).rglob("*.py"))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for module in modules:
            name = module.relative_to(package).as_posix()
            if not name.startswith(_WITHOUT):
                entry = zipfile.ZipInfo(f"odradek/{name}", _MOMENT)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = _MODE
                archive.writestr(entry, module.read_bytes())
    return made.getvalue()
