"""The metadata file beside the logs: whose it is, and what it must still know."""

from pathlib import Path
from uuid import UUID

import pytest

from odradek.base.chance import SeededChance
from odradek.base.errors import DataDirectoryError
from odradek.base.execution import exhaust
from odradek.base.settings import BrokerSettings
from odradek.metadata.embedded import EmbeddedEngine
from odradek.metadata.startup import found_cluster
from odradek.server.process.embedded_store import open_embedded_engine
from odradek.storage.meta_properties import write_meta_properties
from odradek.storage.os_files import OsFileSystem

CLUSTER = "9mV0tsdqSpyTkIyXSMUJOw"


@pytest.fixture
def settings(tmp_path: Path) -> BrokerSettings:
    """Of a broker whose log directory belongs to `CLUSTER`."""
    write_meta_properties(
        OsFileSystem(), str(tmp_path), cluster_id=CLUSTER, node_id=0, directory_id=UUID(int=1)
    )
    return BrokerSettings(log_dirs=(str(tmp_path),))


def test_a_metadata_file_that_lost_its_content_is_not_founded_anew(
    settings: BrokerSettings, tmp_path: Path
) -> None:
    """R15: such as one whose whole content was in a write-ahead log that is damaged."""
    EmbeddedEngine(tmp_path / "metadata.db").close()
    with pytest.raises(DataDirectoryError) as refused:
        open_embedded_engine(settings)
    assert str(refused.value) == (
        f"{tmp_path} belongs to cluster {CLUSTER}, but the metadata file {tmp_path}/metadata.db is"
        " empty: restore it from a backup"
    )
    engine = EmbeddedEngine(tmp_path / "metadata.db")
    assert engine.cluster_id() is None, "nothing was founded"
    engine.close()


def test_a_new_directory_gets_a_new_file(tmp_path: Path) -> None:
    engine = open_embedded_engine(BrokerSettings(log_dirs=(str(tmp_path / "new"),)))
    session = engine.open_session()
    found = exhaust(found_cluster(SeededChance(1)), lambda operation: engine.apply(session, operation).result)
    engine.close()
    again = EmbeddedEngine(tmp_path / "new" / "metadata.db")
    assert again.cluster_id() == found
    again.close()
