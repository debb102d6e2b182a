"""The producer without I/O: what is done with a record from `send` until its acknowledgement.

- `settings`: the settings that its cores read, with Kafka's defaults and bounds.
- `partitioner`: which partition a record goes to, with a key and without one (KIP-794).
- `batch`: records that are sent as one.
- `partition_queue`: the batches of one partition, in order, and their sequence numbers (KIP-98, KIP-360).
- `accumulator`: all queues, the memory that they may take, and what may be sent now.
- `transaction`: which call is allowed when, and what an error leads to; `transaction_core`: the requests to
  coordinators that this takes.
- `delivery`: the core: it asks for a producer id, sends batches, and handles what became of them.
"""
