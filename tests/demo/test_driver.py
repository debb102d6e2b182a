"""The driver's process: how it ends."""

from pathlib import Path

import pytest
from demo.driver import Driver, DriverFailed

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_a_driver_that_ends_by_itself_is_quoted(tmp_path: Path) -> None:
    with Driver([tmp_path / "lacking.toml"], tmp_path / "log") as driver:
        driver.wait()
        with pytest.raises(DriverFailed, match=r"cannot read .*lacking\.toml"):
            driver.check()


def test_the_end_of_the_block_kills_it(tmp_path: Path) -> None:
    with Driver([tmp_path / "lacking.toml"], tmp_path / "log") as driver:
        driver.check()
    with pytest.raises(DriverFailed):
        driver.check()
