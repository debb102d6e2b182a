"""Compaction: keeps only the last record of each key in the old part of a log (L5).

    offsets   0     1     2     3     4     5     6     7  |  8 ...     active segment, never touched
              k=1   j=1   k=2   i=1   j=2   k=-   i=2   l=1|
              [ segment 0      ][ segment 3    ][ segment 6]
                    ^ clean up to 3, dirty from 3 on

    map of the dirty part     i -> 6, j -> 4, k -> 5, l -> 7
    kept of what is below 8   4: j=2, 5: k=- (a tombstone, for delete.retention.ms from now), 6: i=2, 7: l=1
    afterwards                [ segment 0: 4 5 6 7 ] clean up to 8; no offset has changed

- `selection`: which log is due for cleaning, and up to which offset it may be cleaned.
- `job`: the cleaner's input and its results, as plain values that can be sent to another process.
- `cleaning`: the work on files, while the broker continues to read and append.
- `offset_map`, `transactions`, `batch_filter`, `record_walk`: its parts.

The results are in `.cleaned` files until `Log.swap_in` renames them into the log. After a crash
`storage.loading` finishes the swap if all results of one segment are named `.swap`, else undoes it.
"""
