"""Disks that fill up, break or lie: what is whole stays, what is not is named, and the rest goes on."""

import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from odradek import Admin
from odradek.base.error_codes import ErrorCode
from odradek.testing.broker_process import BrokerProcess
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from tests.batches import BatchOf
from tests.integration.plain_clients import Connect
from tests.integration.processes import NewProcess, Serve

pytestmark = [pytest.mark.slow, pytest.mark.integration]

Restarted = Callable[[], list[bytes]]

TOPIC = "orders"
SMALL_DISK_BYTES = 4 << 20


def report_of(broker: BrokerProcess) -> list[str]:
    """The broker's warnings on stderr, without times; how busy this machine is does not matter here."""
    lines = broker.log_path.read_text().splitlines()
    assert not [line for line in lines if "Traceback" in line], "\n".join(lines)
    worse = [line for line in lines if " INFO " not in line and "loop_stalls: " not in line]
    return [line.partition(": ")[2] for line in worse]


def values_up_to(count: int) -> list[bytes]:
    return [b"value %d" % number for number in range(count)]


@pytest.fixture
def loaded(new_process: NewProcess, connect: Connect, batch_of: BatchOf) -> BrokerProcess:
    """A running broker with ten batches of one record each in one partition."""
    broker = new_process(log_index_interval_bytes="1")
    broker.start()
    with Admin(broker.bootstrap_servers) as admin:
        admin.create_topic(TOPIC, partitions=1)
    with connect(broker.bootstrap_servers) as client:
        for value in values_up_to(10):
            assert client.produce(TOPIC, batch_of(value)).error_code == 0
    return broker


@pytest.fixture
def restarted(loaded: BrokerProcess, connect: Connect, batch_of: BatchOf) -> Callable[[], list[bytes]]:
    """Start the broker again; every value that it then serves, before it takes another."""

    def restart() -> list[bytes]:
        loaded.start()
        with connect(loaded.bootstrap_servers) as client:
            values: list[bytes] = client.values(TOPIC)
            assert client.produce(TOPIC, batch_of(b"more")).base_offset == len(values)
        return values

    return restart


def log_of(broker: BrokerProcess) -> Path:
    return broker.data_dir / f"{TOPIC}-0" / "00000000000000000000.log"


# --- crashes


def test_a_kill_loses_nothing_that_was_acknowledged_and_is_reported(
    loaded: BrokerProcess, restarted: Restarted
) -> None:
    """L4"""
    loaded.kill()
    assert restarted() == values_up_to(10)
    assert report_of(loaded) == [f"{loaded.data_dir} was not stopped cleanly, its logs were verified"]


def test_a_clean_stop_is_marked_and_needs_no_recovery(loaded: BrokerProcess, restarted: Restarted) -> None:
    """L4"""
    assert loaded.stop() == 0
    assert (loaded.data_dir / ".kafka_cleanshutdown").exists()
    assert restarted() == values_up_to(10)
    assert not (loaded.data_dir / ".kafka_cleanshutdown").exists()
    assert report_of(loaded) == []


def test_a_second_signal_forces_the_stop(loaded: BrokerProcess, restarted: Restarted) -> None:
    process_id = loaded.pid
    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT):
        subprocess.run(["kill", f"-{number.value}", str(process_id)], check=True)
    subprocess.run(["kill", "-CONT", str(process_id)], check=True)
    assert loaded.stop() == 130
    assert not (loaded.data_dir / ".kafka_cleanshutdown").exists()
    assert restarted() == values_up_to(10)


# --- a damaged metadata file


def test_topics_that_a_damaged_metadata_file_lost_are_named_and_come_back_with_a_backup(
    new_process: NewProcess, connect: Connect, batch_of: BatchOf
) -> None:
    """R15"""
    broker = new_process()
    broker.start()
    files = [broker.data_dir / name for name in ("metadata.db", "metadata.db-wal")]
    founded_bytes = files[1].stat().st_size
    with Admin(broker.bootstrap_servers) as admin:
        admin.create_topic(TOPIC, partitions=1)
    with connect(broker.bootstrap_servers) as client:
        assert client.produce(TOPIC, batch_of(b"kept")).error_code == 0
    broker.kill()
    backup = [file.read_bytes() for file in files]
    damaged = bytearray(backup[1])
    damaged[founded_bytes + 100] ^= 0xFF
    files[1].write_bytes(damaged)
    broker.start()
    (said,) = [line for line in report_of(broker) if "the metadata store has no such topics" in line]
    assert f"{TOPIC}-0 in {broker.data_dir} were renamed to ...-stray" in said
    assert broker.stop() == 0
    for file, content in zip(files, backup, strict=True):
        file.write_bytes(content)
    broker.start()
    assert any(f"{TOPIC}-0 in {broker.data_dir} were taken back" in line for line in report_of(broker))
    with connect(broker.bootstrap_servers) as client:
        assert client.values(TOPIC) == [b"kept"]


# --- damaged logs


def test_a_torn_tail_is_cut_and_named(loaded: BrokerProcess, restarted: Restarted, batch_of: BatchOf) -> None:
    """L4"""
    loaded.kill()
    log = log_of(loaded)
    whole = log.stat().st_size
    with log.open("ab") as file:
        file.write(batch_of(b"never acknowledged")[:40])
    assert restarted() == values_up_to(10)
    (cut,) = [line for line in report_of(loaded) if "was cut" in line]
    assert cut.startswith(f"{log} was cut at byte {whole} (")
    assert "40 bytes, kept in " in cut
    assert cut.count(f"{log}") == 2, "named as what was cut, and in the name of what was kept"


def test_zeros_at_the_tail_are_cut(loaded: BrokerProcess, restarted: Restarted) -> None:
    """What a file system leaves that had given a file its length and not yet its blocks."""
    loaded.kill()
    with log_of(loaded).open("ab") as file:
        file.write(bytes(4096))
    assert restarted() == values_up_to(10)
    assert any("4096 bytes, all of them zeros" in line for line in report_of(loaded))


def test_a_corrupt_middle_ends_the_log_there_and_the_rest_is_kept_aside(
    loaded: BrokerProcess, restarted: Restarted
) -> None:
    """L4; Kafka cuts at the same place and forgets the rest."""
    loaded.kill()
    log = log_of(loaded)
    content = bytearray(log.read_bytes())
    damaged = content.index(b"value 6")
    content[damaged] ^= 0xFF
    log.write_bytes(content)
    assert restarted() == values_up_to(6)
    (cut,) = [line for line in report_of(loaded) if "was cut" in line]
    assert "has CRC" in cut
    kept = Path(re.search(r"kept in (\S+)", cut)[1])  # type: ignore[index]
    assert b"value 9" in kept.read_bytes()


def test_corruption_behind_a_clean_stop_is_served_to_nobody_as_something_else(
    loaded: BrokerProcess, restarted: Restarted
) -> None:
    """After a clean stop nothing is verified; readers check CRCs, and offsets stay what they were."""
    assert loaded.stop() == 0
    log = log_of(loaded)
    content = bytearray(log.read_bytes())
    content[content.index(b"value 6")] ^= 0xFF
    log.write_bytes(content)
    values = restarted()
    assert values[:6] == values_up_to(6)
    assert values[7:] == values_up_to(10)[7:]


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize(
    ("suffix", "damage"),
    [("index", None), ("timeindex", None), ("index", b"odd"), ("timeindex", b"\xff" * 240)],
)
def test_a_missing_or_damaged_index_is_made_again(
    loaded: BrokerProcess, restarted: Restarted, suffix: str, damage: bytes | None, clean: bool
) -> None:
    """L4"""
    if clean:
        assert loaded.stop() == 0
    else:
        loaded.kill()
    index = log_of(loaded).with_suffix(f".{suffix}")
    if damage is None:
        index.unlink(missing_ok=True)
    else:
        index.write_bytes(damage)
    assert restarted() == values_up_to(10)
    assert loaded.stop() == 0
    assert index.stat().st_size > 0
    report_of(loaded)


@pytest.mark.parametrize(
    ("checkpoint", "damage"),
    [
        ("replication-offset-checkpoint", b"garbage\n"),
        ("recovery-point-offset-checkpoint", b""),
        ("log-start-offset-checkpoint", b"0\n1\norders 0 -5\n"),
        (f"{TOPIC}-0/leader-epoch-checkpoint", b"0\n7\n"),
        (f"{TOPIC}-0/partition.metadata", b"garbage\n"),
    ],
)
def test_a_damaged_checkpoint_loses_nothing(
    loaded: BrokerProcess, restarted: Restarted, checkpoint: str, damage: bytes
) -> None:
    """R12"""
    assert loaded.stop() == 0
    path = loaded.data_dir / checkpoint
    path.write_bytes(damage)
    assert restarted() == values_up_to(10)
    named = [line for line in report_of(loaded) if line.startswith(f"{path} is damaged (")]
    assert len(named) == 1, report_of(loaded)


def test_a_checkpoint_beyond_the_log_is_told_and_no_offset_below_it_is_given_out(
    loaded: BrokerProcess, connect: Connect, batch_of: BatchOf
) -> None:
    """R12: records that it speaks of are lost, and somebody may have read them."""
    assert loaded.stop() == 0
    for name in ("replication", "recovery-point"):
        path = loaded.data_dir / f"{name}-offset-checkpoint"
        path.write_text(f"0\n1\n{TOPIC} 0 1000000\n")
    loaded.start()
    with connect(loaded.bootstrap_servers) as client:
        assert client.values(TOPIC) == values_up_to(10)
        assert client.produce(TOPIC, batch_of(b"more")).base_offset == 1_000_000
    assert any("the next one gets offset 1000000" in line for line in report_of(loaded))


# --- disks that are full, or refuse


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB; only root can make one."""
    path = tmp_path / "small"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_BYTES}", "tmpfs", str(path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


def log_dirs(broker: BrokerProcess, connect: Connect) -> dict[str, tuple[int, set[str]]]:
    """Error code and topics of each log directory, by path."""
    with connect(broker.bootstrap_servers) as client:
        answer = client.connection.ask(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse)
    return {one.log_dir: (one.error_code, {topic.name for topic in one.topics}) for one in answer.results}


def fill(broker: BrokerProcess, connect: Connect, batch_of: BatchOf, topic: str) -> int:
    """Write batches of 100 kB until one is refused; how many were acknowledged."""
    acknowledged = 0
    with connect(broker.bootstrap_servers) as client:
        while True:
            answer = client.produce(topic, batch_of(b"%08d" % acknowledged + b"x" * 100_000))
            if answer.error_code:
                assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
                return acknowledged
            acknowledged += 1
            assert acknowledged * 100_000 < SMALL_DISK_BYTES, "the disk never gets full"


def test_a_full_disk_takes_its_directory_offline_and_the_others_go_on(
    new_process: NewProcess, small_disk: Path, tmp_path: Path, connect: Connect, batch_of: BatchOf
) -> None:
    """R6, L7"""
    broker = new_process(
        log_dirs=f"{tmp_path}/large,{small_disk}/logs", odradek_metadata_file=f"{tmp_path}/m.db"
    )
    broker.start()
    with Admin(broker.bootstrap_servers) as admin:
        for topic in ("one", "two"):
            admin.create_topic(topic, partitions=1)
    homes = {topic: path for path, (_, topics) in log_dirs(broker, connect).items() for topic in topics}
    unlucky, lucky = sorted(homes, key=lambda topic: str(small_disk) not in homes[topic])
    acknowledged = fill(broker, connect, batch_of, unlucky)
    with connect(broker.bootstrap_servers) as client:
        assert client.produce(unlucky, batch_of(b"x")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert client.produce(lucky, batch_of(b"x")).error_code == 0
        assert client.values(lucky) == [b"x"]
    assert log_dirs(broker, connect)[f"{small_disk}/logs"][0] == ErrorCode.KAFKA_STORAGE_ERROR
    assert log_dirs(broker, connect)[f"{tmp_path}/large"][0] == 0
    (said,) = [line for line in report_of(broker) if "offline" in line]
    assert said == (
        f"the log directory {small_disk}/logs is offline: No space left on device; free space there and"
        " start the broker again"
    )
    assert broker.stop() == 0
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    broker.start()
    with connect(broker.bootstrap_servers) as client:
        values = client.values(unlucky)
        assert [int(value[:8]) for value in values] == list(range(acknowledged))
        assert client.values(lucky) == [b"x"]


def test_a_broker_without_any_directory_left_stops_and_says_why(
    new_process: NewProcess, small_disk: Path, tmp_path: Path, connect: Connect, batch_of: BatchOf
) -> None:
    """R6"""
    broker = new_process(small_disk / "logs", odradek_metadata_file=f"{tmp_path}/m.db")
    broker.start()
    with Admin(broker.bootstrap_servers) as admin:
        admin.create_topic(TOPIC, partitions=1)
    acknowledged = fill(broker, connect, batch_of, TOPIC)
    assert broker.wait(20) == 1
    assert [line for line in report_of(broker) if "offline" in line or "stopping" in line] == [
        f"stopping: the log directory {small_disk}/logs is offline: No space left on device; free space"
        " there and start the broker again"
    ]
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    broker.start()
    with connect(broker.bootstrap_servers) as client:
        assert len(client.values(TOPIC)) == acknowledged


def test_a_read_only_directory_is_offline_from_the_start(
    new_process: NewProcess, small_disk: Path, tmp_path: Path, connect: Connect
) -> None:
    """L7"""
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    broker = new_process(log_dirs=f"{tmp_path}/large,{small_disk}", odradek_metadata_file=f"{tmp_path}/m.db")
    broker.start()
    with Admin(broker.bootstrap_servers) as admin:
        admin.create_topic(TOPIC, partitions=4)
    assert log_dirs(broker, connect)[f"{tmp_path}/large"] == (0, {TOPIC})
    (said,) = [line for line in report_of(broker) if "offline" in line]
    assert said.startswith(f"the log directory {small_disk} is offline: Read-only file system")
    assert said.endswith("; make it writable and start the broker again")


def test_a_directory_that_becomes_read_only(
    new_process: NewProcess, small_disk: Path, tmp_path: Path, connect: Connect, batch_of: BatchOf
) -> None:
    """L7: whatever may still be read is not served either, for nobody knows what else is gone."""
    broker = new_process(small_disk / "logs", odradek_metadata_file=f"{tmp_path}/m.db")
    broker.start()
    with Admin(broker.bootstrap_servers) as admin:
        admin.create_topic(TOPIC, partitions=1)
    with connect(broker.bootstrap_servers) as client:
        assert client.produce(TOPIC, batch_of(b"whole")).error_code == 0
    broker.kill()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(Exception, match="Read-only file system"):
        broker.start()
    assert (small_disk / "logs" / f"{TOPIC}-0" / "00000000000000000000.log").stat().st_size > 0
    report_of(broker)


def test_only_a_read_only_directory_is_one_sentence(serve: Serve, small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    found = serve("--port", "0", "--data-dir", small_disk / "data")
    assert (found.returncode, found.stderr.count("\n")) == (2, 1), found.stderr
    assert "read-only file system" in found.stderr.lower()
