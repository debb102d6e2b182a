"""CRC-32C by numpy is that of the package."""

import subprocess
import sys

import crc32c as package
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("numpy")

from odradek.records.crc_arrays import crc32c


def test_the_published_value() -> None:
    assert crc32c(b"123456789") == 0xE3069283


@pytest.mark.parametrize("size", [*range(18), 1023, 1024, 1025, 70_001])
def test_any_number_of_bytes(size: int) -> None:
    data = (bytes(range(1, 256)) * 300)[:size]
    assert crc32c(data) == package.crc32c(data)
    assert crc32c(memoryview(data)) == package.crc32c(data)


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_bytes_behind_others(first: bytes, second: bytes) -> None:
    assert crc32c(second, crc32c(first)) == package.crc32c(first + second)


def test_an_interpreter_without_the_package_takes_it() -> None:
    script = """
import sys
from importlib.machinery import PathFinder
found = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: None if name.startswith("crc32c") else found(name, *more)
from odradek.records.crc import crc32c
assert crc32c.__module__ == "odradek.records.crc_arrays", crc32c.__module__
assert crc32c(b"123456789") == 0xE3069283
"""
    subprocess.run([sys.executable, "-c", script], check=True)
