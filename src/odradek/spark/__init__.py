"""The PySpark data sources: topics read and written in batches and streams, and segment files read.

    source          `format("odradek")`, and its batches     source_options   what may be said of a read
    batch_planning  the ranges of a batch; offset_ranges      range_reader     what a task makes of its range
    stream_reader   streams; stream_planning is where they begin and how far they may go
    bounded_stream  streams whose batches have limits (trigger_limits), on PySpark 4.2 and later
    sink            writes: direct_sink at least once, transactional_sink exactly once (staging, marker_topic)
    segment_source  `format("odradek.segments")`: segment_options, segment_reader
    session         a session that has the sources; java_home finds its Java, master says where Spark runs
    shipping        the package as a zip for executors        lake_jars        what tables need of jars
    worker_imports  what a worker reads again before each task, and need not
    pipeline        from topics to tables

Invariant: modules that tasks import need pyspark, pyarrow and numpy, and none of the broker's rooms.
"""
