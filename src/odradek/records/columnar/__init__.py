"""Record batches as Arrow columns, for Spark's tasks and for consumers that poll batches; and as tuples.

`record_sets` is the way in: bytes of fetch answers or of segment files in, one `pyarrow.RecordBatch` out.
`arrow_arrays` lays Arrow arrays over numpy's without pandas.
`record_rows`, which needs only numpy, makes tuples of the records of many batches.
This package alone of `records` needs numpy and pyarrow, which not every installation has. So who uses it says
what is missing; in `records` only `record_readers` imports it, and does without where there is no numpy.
"""
