"""Faults that a test sets on one broker: one vocabulary, for a broker in a process and for a simulated node.

- `rules`: which requests a fault applies to, of clients or of other brokers, and how often; without I/O.
- `interposed`: applies a rule to a request: uses another handler, another client, or neither.
- `documents`: faults as JSON documents, and the parts that carry them out.

A rule applies to requests (error, delay, drop), to connections (refused) or to the disk (full, slow); other
faults happen once (connections dropped, a member expired, a producer id lost). Faults of a whole broker, or
between two brokers, are methods of its owner: `kill`, `stop`, `start`, `pause` of `testing.Broker`; `kill`,
`stop`, `lose_power`, `isolate`, `cut`, `expire_session` of `testing.sim.World`.
"""
