"""The unit and the deployment of ``examples/follow`` are whole, and their commands can be run."""

from __future__ import annotations

import shlex
from configparser import ConfigParser
from pathlib import Path

import click
import yaml

from adjudge.features.traffic.command import follow

EXAMPLES = Path(__file__).parents[3] / "examples" / "follow"


def check_command(words: list[str]) -> None:
    """That the options are those of the command."""
    with follow.make_context("follow", words, resilient_parsing=False):
        assert click


def test_the_unit_of_systemd() -> None:
    unit = ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(EXAMPLES / "adjudge-follow.service")
    assert {*unit} == {"DEFAULT", "Unit", "Service", "Install"}
    program, name, *words = shlex.split(unit["Service"]["ExecStart"])
    assert (Path(program).name, name) == ("adjudge", "follow")
    check_command(words)


def test_the_deployment_of_kubernetes() -> None:
    whole = yaml.safe_load((EXAMPLES / "kubernetes.yaml").read_text())
    assert (whole["apiVersion"], whole["kind"]) == ("apps/v1", "Deployment")
    pod = whole["spec"]["template"]
    labels = whole["spec"]["selector"]["matchLabels"]
    assert labels.items() <= pod["metadata"]["labels"].items()
    (container,) = pod["spec"]["containers"]
    mounted = {one["name"] for one in container["volumeMounts"]}
    assert mounted == {one["name"] for one in pod["spec"]["volumes"]}
    assert whole["spec"]["replicas"] == 1
    name, *words = container["args"]
    assert name == "follow"
    check_command(words)
