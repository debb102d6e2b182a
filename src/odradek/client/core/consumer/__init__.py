"""The consumer without I/O.

- `consumer_core`: the whole, which a driver runs.
- `subscription`: what was subscribed to or assigned, and a `partition_state` for each partition.
- `fetcher`: one fetch to each node (`fetch_session`), and the queue of what came (`completed_fetch`).
- `batch_walk`, `run_decoding`, `column_reader`: how an answer is read, as records or as columns.
- `positions`: where reading begins: committed offsets, resets, validation after a change of leader.
- `offset_operations`: commits, and what an application asks about offsets.
"""
