"""What an administrator asks a cluster, without I/O: each operation is a generator of requests and pauses.

What an operation is stands in `client/core/operation`.

- `elements`: how an operation asks about many things, each of which may be refused.
- The other modules: the operations, and what they return.
"""
