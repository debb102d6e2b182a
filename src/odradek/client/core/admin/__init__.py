"""What an administrator asks a cluster, without I/O: each operation is a generator of requests and pauses.

- `operation`: what an operation is, which refusals it outlasts, and how it asks.
- `elements`: how it asks about many things, each of which may be refused.
- The other modules: the operations, and what they return.
"""
