"""Puts the server into the wheel, and takes the version from the chart, as the image does."""
import os
import re
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class CustomMetadataHook(MetadataHookInterface):
    """HOPGATE_VERSION, or the version of the chart."""

    def update(self, metadata):
        chart = Path(self.root, "../deploy/helm/hopgate/Chart.yaml")
        metadata["version"] = os.environ.get("HOPGATE_VERSION") or re.search(r'^appVersion: "(.*)"', chart.read_text(), re.M)[1]


class CustomBuildHook(BuildHookInterface):
    """HOPGATE_SERVER is the program, HOPGATE_PLATFORM the tag of its platform. Without them the wheel has no server and fits every one."""

    def initialize(self, version, build_data):
        server, platform = os.environ.get("HOPGATE_SERVER"), os.environ.get("HOPGATE_PLATFORM")
        if server:
            build_data["force_include"][server] = "hopgate/_bin/" + ("hopgate.exe" if server.endswith(".exe") else "hopgate")
            build_data["tag"] = f"py3-none-{platform}"
            build_data["pure_python"] = False
