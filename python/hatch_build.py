"""Puts the program of one platform into the wheel. packaging/wheel sets the variables."""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ProgramHook(BuildHookInterface):
    """Adds $EXTSORT_BINARY to a wheel with the tag $EXTSORT_WHEEL_TAG."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Change the files and the tag of the wheel. Without a binary, it has only the Python code."""
        binary = os.environ.get("EXTSORT_BINARY")
        if not binary:
            return
        build_data["pure_python"] = False
        build_data["tag"] = os.environ["EXTSORT_WHEEL_TAG"]
        build_data["force_include"][binary] = "extsort/bin/" + os.path.basename(binary)
