"""Record batches (Kafka's message format 2): headers, validation, compression, framing.

- `header`: the 61 bytes in front of every batch, and the CRC over what follows.
- `validation`: the rules for batches that a log did not write itself; `offsets` gives them their offsets.
- `framing`, `record_tuples`, `record_check`, `timestamps`: the records inside a batch: decoding, all at
  once, checking, lookup by time.
- `record_readers`: the records of several batches as tuples, many at once where numpy is; `header_reader`
  reads their headers, a bounded number in a slice.
- `compression`: the codecs, with a bound on what comes out.
- `isolation`: which batches a reader must not see.
- `columnar`: records as Arrow columns, for who has numpy and pyarrow.
- `builder`, `control`: making batches, and the markers that end transactions.

Invalid bytes raise one of two errors: CorruptRecord if the length, magic or CRC is wrong (the bytes were
damaged: send or fetch them again), InvalidRecord if an undamaged batch breaks a rule (sending it again does
not help).
"""
