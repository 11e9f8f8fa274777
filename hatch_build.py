"""Keeps in a wheel or an sdist the commit that it is built from."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):
    """Fills in the package's file ``COMMIT``, unless the package stays in its checkout."""

    PLUGIN_NAME = "commit"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Replace the file by one that names the commit, if that is known."""
        package = Path(self.root) / "dsgkit"
        spec = importlib.util.spec_from_file_location("commit", package / "commit.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        commit = module.commit_of(package)
        if commit is None or version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        file = Path(self._folder.name) / module.FILE
        file.write_text(f"{commit}\n")
        build_data["force_include"][str(file)] = f"dsgkit/{module.FILE}"

    def finalize(self, *_: Any) -> None:
        """Remove the file that was packed."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()
