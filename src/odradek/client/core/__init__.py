"""The clients without I/O: state machines that get messages, calls and times, and return what to send.

- `requests`: what a core sends and where to, and what became of it.
- `cluster_view`: what the client knows about brokers, topics and leaders.
- `routing`: which broker a request goes to; it finds coordinators and the controller.
- `backoff`: how long to wait between attempts.
- `admin`: the operations of an administrator, each a generator of requests.
- `waiting`: what a client says it is waiting for.
- `producer`: what is done with a record until it is acknowledged.

No file here imports asyncio, socket, threading, time or random (a contract in `pyproject.toml`).
"""
