"""CRC-32C without what its package loads beside it."""

import subprocess
import sys

import crc32c as package

from odradek.records.crc import crc32c


def test_it_is_the_packages_own_function() -> None:
    for data in (b"", b"123456789", bytes(range(256)) * 17):
        assert crc32c(data) == package.crc32c(data)
        assert crc32c(memoryview(data)) == package.crc32c(data)
    assert crc32c(b"123456789") == 0xE3069283


def test_it_is_loaded_without_its_package_and_beside_it() -> None:
    script = """
import sys
from odradek.records.crc import crc32c
assert "importlib.metadata" not in sys.modules, "the package was loaded"
import crc32c as package
assert package.crc32c(b"123456789") == crc32c(b"123456789") == 0xE3069283
"""
    subprocess.run([sys.executable, "-c", script], check=True)
