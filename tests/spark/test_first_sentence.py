import io
import traceback
from collections.abc import Iterator

import pytest

from odradek.base.errors import SettingError
from odradek.spark.first_sentence import sentence_first, sentence_first_of_rows

pytestmark = pytest.mark.spark


def printed(error: BaseException) -> list[str]:
    return "".join(traceback.format_exception(error)).splitlines()


def test_the_first_line_and_the_last_are_the_sentence() -> None:
    @sentence_first
    def refuse(name: str) -> None:
        raise SettingError(f"there is no {name}")

    with pytest.raises(SettingError) as refused:
        refuse("topic")
    lines = printed(refused.value)
    assert lines[0].endswith(": there is no topic")
    assert lines[-1].endswith("SettingError: there is no topic")


def test_rows_come_through_until_an_error_does() -> None:
    def rows() -> Iterator[int]:
        yield 1
        raise SettingError("no more")

    read: list[int] = []
    with pytest.raises(SettingError) as refused:
        read.extend(sentence_first_of_rows(rows()))
    assert printed(refused.value)[0].endswith(": no more")
    assert read == [1]


def test_a_worker_of_spark_shows_it_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.util import handle_worker_exception

    monkeypatch.setenv("SPARK_SIMPLIFIED_TRACEBACK", "1")

    @sentence_first
    def refuse() -> None:
        raise SettingError("not so")

    sent = io.BytesIO()
    try:
        refuse()
    except SettingError as error:
        handle_worker_exception(error, sent)
    assert sent.getvalue()[8:].decode().splitlines()[0].endswith(".Refused: not so")
