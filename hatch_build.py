"""Adds to a wheel the commit that it is built from, and the configs."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Hook(BuildHookInterface):
    """Adds ``configs`` and fills in ``COMMIT``, unless the package stays in its checkout."""

    PLUGIN_NAME = "dsgkit"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the configs, and replace the file by one that names the commit, if that is known."""
        if version == "editable":
            return
        configs = Path(self.root) / "configs"
        if self.target_name == "wheel" and configs.is_dir():
            build_data["force_include"][str(configs)] = "dsgkit/configs"
        package = Path(self.root) / "dsgkit"
        spec = importlib.util.spec_from_file_location("files", package / "system" / "files.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        commit = module.commit_of(package)
        if commit is None:
            return
        self._folder = tempfile.TemporaryDirectory()
        file = Path(self._folder.name) / module.COMMIT_FILE
        file.write_text(f"{commit}\n")
        build_data["force_include"][str(file)] = f"dsgkit/{module.COMMIT_FILE}"

    def finalize(self, *_: Any) -> None:
        """Remove the file that was packed."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()
