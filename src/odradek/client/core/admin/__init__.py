"""What an administrator asks a cluster, without I/O: each operation is a generator of requests and pauses.

- `operation`: what an operation is, which refusals it outlasts, and how it asks.
- `topics`, `configs`, `groups`, `offsets`, `cluster`, `transactions`: the operations, and what they return.
"""
