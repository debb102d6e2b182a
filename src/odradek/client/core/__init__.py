"""The clients without I/O: state machines that get messages, calls and times, and return what to send.

- `requests`: what a core sends and where to, and what became of it.
- `cluster_view`: what the client knows about brokers, topics and leaders.
- `routing`: which broker a request goes to; it finds coordinators and the controller.
- `answers`: which brokers answer.
- `backoff`: how long to wait between attempts.
- `waiting`: what a client says it is waiting for.
- `operation`: something that an application asks for once and waits for; a generator of requests and pauses.
- `operation_reasons`: what such operations wait for.
- `topic_partitions`: how many partitions a topic has.
- `consumer`: from what is subscribed to or assigned to the records that an application gets.
- `membership`: a consumer's place in its group, in either protocol.
- `producer`: what is done with a record until it is acknowledged.
- `admin`: the operations of an administrator.

No file here imports asyncio, socket, threading, time or random (a contract in `pyproject.toml`).
"""
