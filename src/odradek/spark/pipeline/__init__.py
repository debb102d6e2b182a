"""Pipelines: topics become tables, every record exactly once. The way of one batch, and who does what:

    description  the TOML file, checked                    fields       types of columns, and their values
    planning     which offsets come next                   decoding     record values to columns, or an error
    ledger       the table's directory and its commits     engine       the loop: plan, write, commit
    topics       what the cluster says of the topics       spark_job    the rows of a batch, written by Spark
    verifying    counts the table against the topics       assembly     makes all of these from a description

Invariant: a batch's rows, dead letters and offsets become visible by one rename, or not at all. The table is
the only source of truth for how far the pipeline got.
"""
