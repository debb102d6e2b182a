"""`./dev corrupt`: damage one file of a data directory, start again, and check the data.

A seed makes a data directory (several topics, segments and indexes, committed, aborted and open
transactions, a compacted log), closes it cleanly or not, damages one file once, and opens it again. Then
everything is read. Two of sixteen seeds damage a file of the metadata store instead, between two lives of
a broker.

    __main__        the command
    world           writes the data directory, and records what it wrote
    damage          chooses the file and the damage
    check           what must hold afterwards; tests/campaigns proves that the check can fail
    cluster_world   the same for `metadata.db` and its write-ahead log
"""
