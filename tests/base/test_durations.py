from odradek.base.durations import BOUNDS_NS, Histogram


def test_each_bound_is_in_its_own_bucket_and_the_counts_add_up() -> None:
    histogram = Histogram()
    for bound_ns in (*BOUNDS_NS, BOUNDS_NS[-1] + 1):
        histogram.note(bound_ns)
    counts, sum_s = histogram.cumulative()
    assert counts == list(range(1, len(BOUNDS_NS) + 2))
    assert sum_s == (sum(BOUNDS_NS) + BOUNDS_NS[-1] + 1) / 1e9


def test_what_is_added_at_once_is_below_the_first_bound() -> None:
    histogram = Histogram()
    histogram.note(BOUNDS_NS[1])
    assert histogram.cumulative(3, 60) == ([3] + [4] * len(BOUNDS_NS), (BOUNDS_NS[1] + 60) / 1e9)
