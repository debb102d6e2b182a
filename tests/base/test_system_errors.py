import errno

import pytest

from odradek.base.system_errors import reason_of


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "/Data/A"),
            "no such file or directory",
        ),
        (OSError("Its address is not known: /Data/A"), "its address is not known: /Data/A"),
        (OSError("AF_UNIX path too long"), "AF_UNIX path too long"),
        (OSError(), ""),
    ],
)
def test_a_reason_goes_on_a_sentence_and_keeps_the_names_in_it(error: OSError, words: str) -> None:
    assert reason_of(error) == words
