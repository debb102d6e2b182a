"""Connections in and out: framing, order of answers, correlation, limits. Knows frames, not requests.

- `framing`: where one frame ends and the next begins, without any I/O.
- `server_connection`: one client of ours; its requests are handled one at a time, in order.
- `connection_table`: all of them: who may connect, who is idle for too long, and counts.
- `request_pipeline`: the requests of one connection to a broker, without I/O: versions, order, deadlines.
- `client_connection`: a connection to a broker on a loop, with many requests in flight.
- `blocking_connection`: the same for whoever has a thread to wait on.
"""
