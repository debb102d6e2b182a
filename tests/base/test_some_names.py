from odradek.base.some_names import some_of


def test_a_sentence_has_the_first_names_and_the_number_of_the_others() -> None:
    assert some_of([]) == ""
    assert some_of(["a", "b"], 2) == "a, b"
    assert some_of(range(1_206)) == "0, 1, 2, 3, 4 and 1,201 more"
