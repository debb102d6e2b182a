"""Pipelines: topics become tables, every record exactly once. The way of one batch, and who does what:

    description  the TOML file, checked                    fields       types of columns, and their values
    planning     which offsets come next                   decoding     record values to columns, or an error
    ledger       the directory of batches, their commits   engine       the loop: plan, write, commit
    lake         tables whose own commit has the offsets   delta, iceberg, lake_rows   each format of these
    topics       what the cluster says of the topics       spark_job    the rows of a batch, written by Spark
    decoded_source  a batch, decoded where it is read      decoded_rows batches of records to decoded columns
    json_columns decodes batches of JSON as a whole        moments      columns of timestamps and dates
    batch_counts what a batch's records are counted by
    column_types types of columns for Spark and Arrow      interrupts   Ctrl-C around a Spark session
    verifying    counts the table against the topics       formats      the sinks, their jars and sessions
    dead_letters which of them a replay takes back         verifying_replays  counts what replays took back
    assembly     makes all of these from a description     doctor       looks at all that a run needs
    compaction   small files become large ones; delta_compaction and iceberg_compaction do it for each format
    keys         which records are of one row: keyed_rows finds the newest, merging writes the MERGE,
                 key_proof verifies; change_events reads the envelopes of a database
    avro         columns and values of a schema            row_offsets  where rows and dead letters come from
    figures      what Prometheus reads of a run, served by figures_listener
    transforms   what stages may say; stages runs them, stage_state keeps what they keep, staged_source is
                 what their queries read
    local_paths  paths as Spark takes them             row_files    rows as Parquet files, all of them
    topic_sink   a topic as the table; topic_counting finds what a pipeline has in
                 the topics that it writes, topic_letters_proof compares its dead letters with the ledger
    executors    looks at those of a cluster; executor_look is what their tasks do

Invariant: a batch's rows, dead letters and offsets become visible by one rename, or by one commit of the
table's format, or not at all. The table is the only source of truth for how far the pipeline got.
"""
