"""Inbound and outbound connections: framing, order of answers, correlation ids, limits.

The package must not know what a request means.

- `framing`: where one frame ends and the next begins, without any I/O.
- `server_connection`: the connection of one client; its requests are handled one at a time, in order.
- `socket_connection`: the same as a protocol of asyncio's and uvloop's transports.
- `ready_queue`: which connection's next request is handled when.
- `connection_table`: all client connections: which are admitted, which are idle for too long, and counts.
- `spin`: polling without sleeping for a moment after a request.
- `request_pipeline`: the requests of one connection to a broker, without I/O: versions, order, deadlines.
- `client_connection`: a connection to a broker on a loop, with many requests in flight.
- `blocking_connection`: the same for callers that may block their thread.
"""
