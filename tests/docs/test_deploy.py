"""What `deploy` and docs/operations.md start is a command line that a broker takes."""

import configparser
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from odradek.base.settings import SettingLayers
from odradek.cli.command_line import parse
from odradek.cli.serve import COMMAND, collect_properties
from tests.docs.blocks import ROOT, blocks_of

yaml = pytest.importorskip("yaml")

DEPLOY: Final = ROOT / "deploy"
DOCKERFILE: Final = (DEPLOY / "Dockerfile").read_text()


def entrypoint() -> list[str]:
    found = re.search(r"^ENTRYPOINT (\[.*\])$", DOCKERFILE, re.M)
    assert found is not None
    words: list[str] = json.loads(found[1])
    assert words[:2] == ["odradek", "serve"]
    return words[2:]


def settings_of(arguments: Sequence[str]) -> dict[str, str]:
    properties = collect_properties(parse("odradek serve", COMMAND, arguments))
    _, unknown = SettingLayers.from_static(properties)
    assert unknown == []
    return properties


def manifests() -> list[dict[str, Any]]:
    (block,) = [one for one in blocks_of("docs/operations.md") if one.language == "yaml"]
    return list(yaml.safe_load_all(block.text))


def test_the_image_starts_a_broker() -> None:
    found = re.search(r"^CMD (\[.*\])$", DOCKERFILE, re.M)
    assert found is not None
    settings = settings_of([*entrypoint(), *json.loads(found[1])])
    assert settings["advertised.listeners"] == "PLAINTEXT://localhost:9092"


def test_the_compose_file_starts_a_broker() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    service = compose["services"]["odradek"]
    settings = settings_of([*entrypoint(), *service["command"]])
    assert settings["log.dirs"] == "/var/lib/odradek"
    assert {volume.partition(":")[0] for volume in service["volumes"]} == set(compose["volumes"])
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()


def test_the_unit_has_its_sections_and_starts_a_broker() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "odradek.service")
    assert unit.sections() == ["Unit", "Service", "Install"]
    words = shlex.split(unit["Service"]["ExecStart"])
    assert words[0].endswith("/odradek")
    options = parse("odradek serve", COMMAND, words[2:])
    assert (str(options.data_dir), str(options.config)) == (
        "/var/lib/odradek",
        "/etc/odradek/server.properties",
    )
    assert unit["Service"]["RestartPreventExitStatus"] == "2"


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """But for the program, which is not installed where the unit looks for it."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    unit = (DEPLOY / "odradek.service").read_text()
    assert "ExecStart=/opt/odradek/bin/odradek " in unit
    file = tmp_path / "odradek.service"
    file.write_text(unit.replace("/opt/odradek/bin/odradek ", "/bin/true ", 1))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", file], capture_output=True, text=True, check=False
    )
    own = [line for line in done.stderr.splitlines() if "odradek" in line]
    assert own == []


def test_the_manifest_for_kubernetes_starts_a_broker_where_its_service_looks_for_it() -> None:
    service, stateful_set = manifests()
    (container,) = stateful_set["spec"]["template"]["spec"]["containers"]
    settings = settings_of([*entrypoint(), *container["args"]])
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {port["name"]: port["port"] for port in service["spec"]["ports"]}
    assert settings["listeners"] == f"PLAINTEXT://0.0.0.0:{ports['kafka']}"
    assert settings["odradek.admin.port"] == str(ports["admin"])
    name = f"{stateful_set['metadata']['name']}-0.{stateful_set['spec']['serviceName']}"
    assert f"{name}.default.svc.cluster.local:{ports['kafka']}" in settings["advertised.listeners"]
    assert service["metadata"]["name"] == stateful_set["spec"]["serviceName"]
    assert service["spec"]["selector"] == stateful_set["spec"]["template"]["metadata"]["labels"]
    user = stateful_set["spec"]["template"]["spec"]["securityContext"]["runAsUser"]
    assert f"--uid {user} " in DOCKERFILE
    (volume,) = container["volumeMounts"]
    assert volume["mountPath"] == settings["log.dirs"]
    (claim,) = stateful_set["spec"]["volumeClaimTemplates"]
    assert claim["metadata"]["name"] == volume["name"]
