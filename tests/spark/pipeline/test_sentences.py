"""What is said of Spark's failures, which are hundreds of lines long."""

import re
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from odradek.spark import session
from odradek.spark.pipeline.spark_job import sentence_of

OF_JAVA = """\
An error occurred while calling o6718.parquet.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/table.
\tat org.apache.spark.sql.execution.datasources.FileFormatWriter$.write(FileFormatWriter.scala:197)
Caused by: org.apache.parquet.util.AutoCloseables$ParquetCloseResourceException: Unable to close resource
\tat org.apache.parquet.util.AutoCloseables.uncheckedClose(AutoCloseables.java:85)
\tSuppressed: org.apache.hadoop.fs.FSError: java.io.IOException: another
\t\t... 31 more
\tCaused by: java.io.IOException: another
\t\t... 44 more
Caused by: java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
\t... 43 more
"""
OF_PYTHON = """\
Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times:
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "clean.py", line 3, in clean
ValueError: no such airport
Caused by: java.io.IOException: something else
"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (OF_JAVA, "No space left on device"),
        (OF_PYTHON, "ValueError: no such airport"),
        ("[PARSE_SYNTAX_ERROR] Syntax error at or near 'form'.\n\n== SQL ==", "[PARSE_SYNTAX_ERROR] Syntax"),
        ("", "Spark gives no reason"),
    ],
)
def test_the_reason_is_found_in_what_spark_raises(text: str, sentence: str) -> None:
    assert sentence_of(text).startswith(sentence)


@pytest.mark.parametrize(
    ("message", "is_shown"),
    [
        ("Aborting task", False),
        ("Aborting task org.apache.spark.sql.execution.datasources.v2.DataWritingSparkTask@1", False),
        ("Aborting job d486e4ee-daf2-4858-8e07-0413e41a5dca.", False),
        ("Job: job_1, Task: task_1, Task attempt attempt_1 aborted.", False),
        ("Exception in task 0.0 in stage 778.0 (TID 604)", False),
        ("Task 0 in stage 778.0 failed 1 times; aborting job", False),
        ("Query [id = 1, runId = 2] terminated with error", False),
        ("Lost executor 0 on 127.0.0.1: worker lost", True),
        ("Uncaught exception in thread main", True),
    ],
)
def test_spark_logs_no_stacks_of_what_it_raises(message: str, is_shown: bool) -> None:
    settings = (Path(session.__file__).parent / "log4j2.properties").read_text()
    found = re.search(r"^appender\.stderr\.filter\.raised\.regex = (.*)$", settings, re.MULTILINE)
    assert found is not None
    assert (re.fullmatch(found[1].replace("\\\\", "\\"), message) is None) == is_shown
