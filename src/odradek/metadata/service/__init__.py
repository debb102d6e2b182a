"""The metadata store served by one process to others, over a connection for each session; without I/O.

- `messages`: what both sides say, as values; `layout`, `encoding`, `decoding`: as bytes.
- `channel`: a connection of such messages over a transport.
- `awake_time`: the time in which a process runs, by which both sides measure leases.
- `lease`: what the engine keeps of a session, so that a later process of the server knows it.
- `server`: the sessions of all connections over one engine.
- `client`: a `MetadataStore` whose engine is in another process.
"""
