"""The broker: where cores, sockets, loops and clocks meet.

- `edge`: listeners, and from a frame to its handler and back.
- `handlers`: one file per API.
- `node`: everything synchronous that makes a broker; what handlers reach and a simulator runs.
- `cleaning`: compaction, in a process of its own.
- `admin`: the HTTP listener, metrics and descriptions.
- `process`: the composition root, its loop and threads, its start and stop.
"""
