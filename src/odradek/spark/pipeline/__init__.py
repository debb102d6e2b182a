"""Pipelines: topics become tables, every record exactly once. The way of one batch, and who does what:

    description  the TOML file, checked                    fields       types of columns, and their values
    planning     which offsets come next                   decoding     record values to columns, or an error
    ledger       the table's directory and its commits     engine       the loop: plan, write, commit
    verifying    counts the table against the topics

These are the cores, which need no Spark. The ports `Topics` and `Job` of the engine have no implementation
yet but that of the tests, and no command runs a pipeline.

Invariant: a batch's rows, dead letters and offsets become visible by one rename, or not at all. The table is
the only source of truth for how far the pipeline got.
"""
