"""Inbound and outbound connections: framing, order of responses, correlation ids, limits.

The package must not know what a request means.

- `framing`: where one frame ends and the next begins, without any I/O.
- `server_connection`: the connection of one client; its requests are handled one at a time, in order.
- `socket_connection`: the same as a protocol of asyncio's and uvloop's transports.
- `ready_queue`: the order in which the connections' requests are handled.
- `connection_table`: all connections of clients, or of brokers: admission, idle connections, counts.
- `spin`: polling without sleeping for a moment after a request.
- `request_pipeline`: the requests of one connection to a broker, without I/O: versions, order, deadlines.
- `client_connection`: a connection to a broker on a loop, with callbacks and many requests in flight.
- `blocking_connection`: the same for callers that may block their thread.
- `security`: whether a connection to a broker uses TLS and SASL; `tls`: TLS's contexts and faults.
- `sasl`: the exchanges of SASL, without I/O; `loop_authenticator` runs them on a loop.
"""
