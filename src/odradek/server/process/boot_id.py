"""The boot id of the machine (R15): the same until the machine restarts and loses its page cache."""

import subprocess
import sys
from pathlib import Path

_LINUX = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """Returns the boot id, or "" if the system has none."""
    try:
        if sys.platform == "darwin":
            asked = ["sysctl", "-n", "kern.bootsessionuuid"]
            return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        return _LINUX.read_text().strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
