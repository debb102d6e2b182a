"""What the engine keeps of a session that may outlive the server's process (`StoreEngine.open_session`)."""

import json

from odradek.base.ids import BrokerId
from odradek.base.values import value


@value
class Lease:
    """How long a session lives without a sign of its holder, and who that is."""

    timeout_ms: int
    broker_id: BrokerId
    # The process that opened it, and the boot of the machine in which that number means it.
    pid: int
    boot_id: str
    # What its holder shows when it comes back.
    secret: bytes

    def encode(self) -> bytes:
        """The lease as JSON."""
        document = {
            "timeout_ms": self.timeout_ms,
            "broker_id": self.broker_id,
            "pid": self.pid,
            "boot_id": self.boot_id,
            "secret": self.secret.hex(),
        }
        return json.dumps(document).encode()


def decode_lease(data: bytes) -> Lease | None:
    """Decode what `Lease.encode` wrote; None for anything else, such as a session without a lease."""
    try:
        document = json.loads(data)
        timeout_ms, broker_id, pid = (int(document[name]) for name in ("timeout_ms", "broker_id", "pid"))
        return Lease(timeout_ms, broker_id, pid, str(document["boot_id"]), bytes.fromhex(document["secret"]))
    except (ValueError, KeyError, TypeError):
        return None
