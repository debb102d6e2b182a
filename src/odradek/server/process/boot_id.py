"""The boot id of the machine (R15): the same as long as its page cache lives."""

import subprocess
import sys
from pathlib import Path

_LINUX = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """The id, or "" where the system has none."""
    try:
        if sys.platform == "darwin":
            asked = ["sysctl", "-n", "kern.bootsessionuuid"]
            return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        return _LINUX.read_text().strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
