"""Faults that a test sets on one broker: one vocabulary, for a broker in a process and for a simulated node.

- `rules`: which requests are meant, of clients or of other brokers, and how often; without I/O.
- `interposed`: what a rule makes of a request: another handler, another client, or nothing.
- `documents`: faults as documents of JSON, and what each is carried out on.

A rule is for requests (error, delay, drop), for connections (refused) or for the disk (full, slow); other
faults happen once (connections dropped, a member expired, a producer id lost). What happens to a whole life,
or between two, is its owner's: `kill`, `stop`, `start`, `pause` of `testing.Broker`; `kill`, `stop`,
`lose_power`, `isolate`, `cut`, `expire_session` of `testing.sim.World`.
"""
