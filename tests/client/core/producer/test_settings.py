"""Which settings of a producer go together, and the levels of its codecs."""

from random import Random

import pytest

from odradek.base.errors import SettingError
from odradek.base.ids import TopicPartition
from odradek.client.core.producer.batch import Batch
from odradek.client.core.producer.settings import producer_settings
from odradek.client.settings import Client, read_settings
from odradek.records.blocks import BLOCKS_MAX
from odradek.records.compression import Codec, decompress
from odradek.records.header import HEADER_BYTES, read_header

_CHANCE = Random(1)
WORDS = [bytes(_CHANCE.choices(b"abcdefghij", k=6)) for _ in range(300)]
VALUE = b" ".join(_CHANCE.choices(WORDS, k=8_000))


def level_of(**given: object) -> int | None:
    return producer_settings(read_settings(Client.PRODUCER, given)).compression_level


def batch(codec: Codec, level: int | None) -> bytes:
    made = Batch(1, TopicPartition("flights", 0), codec=codec, now_ms=0, deadline_ms=1, level=level)
    made.append(0, None, VALUE, (), 0)
    return bytes(made.data())


@pytest.mark.parametrize(("codec", "default"), [("gzip", -1), ("lz4", 9), ("zstd", 3)])
def test_without_a_level_a_codec_has_its_default(codec: str, default: int) -> None:
    assert level_of(compression_type=codec) is None
    assert level_of(**{"compression_type": codec, f"compression_{codec}_level": default}) is None
    assert level_of(**{"compression.type": codec, f"compression.{codec}.level": "5"}) == 5


@pytest.mark.parametrize(
    ("codec", "level"),
    [("gzip", 0), ("gzip", 10), ("gzip", -2), ("lz4", 0), ("lz4", 18), ("zstd", 23), ("zstd", -131_073)],
)
def test_a_level_that_the_codec_lacks_is_refused(codec: str, level: int) -> None:
    name = f"compression.{codec}.level"
    with pytest.raises(SettingError) as refused:
        level_of(**{"compression.type": codec, name: level})
    assert str(refused.value).startswith(f"{name} is ")
    assert repr(level) in str(refused.value)


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "lz4"])
def test_the_level_of_another_codec_is_refused(codec: str) -> None:
    with pytest.raises(SettingError) as refused:
        level_of(compression_type=codec, compression_zstd_level=3)
    assert str(refused.value) == f"compression.zstd.level has no effect with compression.type={codec}"


@pytest.mark.parametrize(
    ("codec", "weak", "strong"),
    [(Codec.GZIP, 1, 9), (Codec.LZ4, 1, 12), (Codec.LZ4, 1, 17), (Codec.ZSTD, -131_072, 22)],
)
def test_a_higher_level_makes_smaller_batches(codec: Codec, weak: int, strong: int) -> None:
    batches = [batch(codec, level) for level in (weak, None, strong)]
    for one in batches:
        assert read_header(one).codec == codec
        assert VALUE in bytes(decompress(codec, one[HEADER_BYTES:], blocks_free=BLOCKS_MAX))
    assert len(batches[0]) > len(batches[2])


def test_the_halves_of_a_batch_keep_its_level() -> None:
    made = Batch(1, TopicPartition("flights", 0), codec=Codec.ZSTD, now_ms=0, deadline_ms=1, level=-131_072)
    for _ in range(2):
        made.append(0, None, VALUE, (), 0)
    for half in made.split():
        assert len(half.data()) == len(batch(Codec.ZSTD, -131_072))
