"""The metadata store served by one process to others, over a connection for each session; without I/O.

- `messages`: what both sides say, as values; `layout`, `encoding`, `decoding`: as bytes.
- `lease`: what the engine keeps of a session, so that a later process of the server knows it.
- `server`: the sessions of all connections over one engine.
- `client`: a `MetadataStore` whose engine is in another process.

The connections of messages (`metadata.channel`) and the time by which both sides measure leases
(`metadata.awake_time`) are those of ZooKeeper's sessions, too.
"""
