"""The broker: where cores, sockets, loops and clocks meet.

- `core`: `BrokerCore`, all of a broker that is synchronous; what handlers reach and the simulator runs.
- `dispatch`, `handlers`: from a frame to a handler's answer.
- `broker`: `Broker`, the composition root: a core with sockets, threads and a timer, on a running loop.
- `broker_thread`: `BrokerThread`, a broker on a loop and thread of its own, to be embedded anywhere.
- `serve`: a broker as a process, with signals.
"""
