"""`./dev corrupt`: damage one file of a data directory, start again, and look whether anything is wrong.

A seed makes a data directory (several topics, segments and indexes, transactions of every fate, a compacted
log), stops it cleanly or not, does one damage to one file, and opens it again. Then everything is read.

    __main__   the command
    world      what is written, and what is remembered of it
    damage     which file, and what is done to it
    check      what must hold afterwards: tests/campaigns tries that it can fail
"""
