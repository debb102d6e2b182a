"""Small programs in the place of brokers, which a test lets serve, crash, or refuse to stop.

A stand-in for broker 2 does what the file `2` in its directory says, when it starts:

    (no file)    says that it serves, and stops at SIGTERM with code 0
    exit 2       ends at once with that code
    deaf         serves and ignores SIGTERM
    mute         never says that it serves
"""

import sys
from pathlib import Path

STAND_IN = """
import os, pathlib, signal, sys
broker = pathlib.Path(sys.argv[1]).stem.removeprefix("broker-")
orders = pathlib.Path(sys.argv[2]) / broker
order = orders.read_text().split() if orders.exists() else [""]
def say(words):
    os.write(2, f"broker {broker} stand-in {words}\\n".encode())
def stop(*_):
    say("ends")
    sys.exit(0)
if order[0] == "exit":
    sys.exit(int(order[1]))
signal.signal(signal.SIGTERM, signal.SIG_IGN if order[0] == "deaf" else stop)
if order[0] == "mute":
    say("is mute")
else:
    print(f"odradek: listening on 127.0.0.1:{9000 + int(broker)}", flush=True)
    say("serves")
while True:
    signal.pause()
"""


def command(orders: Path, settings: Path) -> list[str]:
    """The command of a stand-in."""
    return [sys.executable, "-S", "-E", "-c", STAND_IN, str(settings), str(orders)]
