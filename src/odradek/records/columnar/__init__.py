"""Record batches as Arrow columns, for Spark's tasks and for consumers that poll batches.

`record_sets` is the way in: bytes of fetch answers or of segment files in, one `pyarrow.RecordBatch` out.
This package alone of `records` needs numpy and pyarrow, which not every installation has; so nothing else in
`records` imports it, and who uses it says what is missing.
"""
