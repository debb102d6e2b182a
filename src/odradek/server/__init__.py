"""The broker: combines the cores with sockets, loops and clocks.

- `edge`: listeners, and the dispatch of frames to handlers.
- `handlers`: one file per API.
- `node`: the synchronous parts of a broker, which handlers use and a simulator runs.
- `cleaning`: compaction, in a process of its own.
- `faults`: what tests set on a broker, and how it changes requests.
- `admin`: the HTTP listener, metrics and descriptions.
- `process`: the composition root, its loop and threads, its start and stop.
- `supervisor`: several brokers on one machine, and their metadata store.
"""
