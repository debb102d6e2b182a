"""Record batches (Kafka's message format 2): headers, validation, compression, framing.

- `header`: the 61 bytes in front of every batch, and the CRC over what follows.
- `validation`: what a log asks of batches that it did not write itself; `offsets` makes them its own.
- `framing`, `record_check`, `timestamps`: the records inside a batch, as values, as a check, by time.
- `compression`: the codecs, with a bound on what comes out.
- `builder`, `control`: making batches, and the markers that end transactions.

Two errors tell two faults apart, and nothing else comes out of here for bad bytes: CorruptRecord where
length, magic or CRC do not hold (the bytes were damaged: send or fetch them again), InvalidRecord where a
batch that arrived as it was sent breaks a rule (sending it again is of no use).
"""
