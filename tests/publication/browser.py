"""Drives a headless Chromium through ChromeDriver's own HTTP protocol; no library is needed."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from waiting import PATIENCE_S

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
TAB, SPACE, ENTER, DOWN, SHIFT = "\ue004", " ", "\ue007", "\ue015", "\ue008"


def available() -> bool:
    """Whether Chromium and its driver are installed."""
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


class Browser:
    """One Chromium with one page.

    Args:
        width: Of the page, CSS pixels.
        height: Of the page.
        dark: Whether the reader prefers dark colours.
        scripts: Whether scripts run.
    """

    def __init__(
        self, width: int = 1280, height: int = 900, *, dark: bool = False, scripts: bool = True
    ) -> None:
        self._profile = tempfile.TemporaryDirectory()
        self._driver = subprocess.Popen(
            ["chromedriver", "--port=0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._session = ""
        try:
            self._port = self._read_port()
            preferences = (
                {} if scripts else {"profile.managed_default_content_settings.javascript": 2}
            )
            options = {
                "binary": shutil.which("chromium"),
                "args": [*FLAGS, f"--user-data-dir={self._profile.name}"],
                "prefs": preferences,
            }
            wanted = {
                "browserName": "chrome",
                "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL"},
            }
            made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self._session = f"/session/{made['sessionId']}"
            self.resize(width, height)
            scheme = "dark" if dark else "light"
            self.cdp(
                "Emulation.setEmulatedMedia",
                features=[{"name": "prefers-color-scheme", "value": scheme}],
            )
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the browser and its driver."""
        try:
            if self._session:
                self._call("DELETE", self._session)
        finally:
            self._driver.terminate()
            self._driver.wait(PATIENCE_S)
            if self._driver.stdout is not None:
                self._driver.stdout.close()
            self._profile.cleanup()

    def _read_port(self) -> int:
        """Where the driver says that it listens, once it does."""
        assert self._driver.stdout is not None
        for line in self._driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                return int(found[1])
        raise RuntimeError("chromedriver has ended")

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as exc:
            raise RuntimeError(exc.read().decode()) from exc

    def cdp(self, command: str, **params: Any) -> Any:
        """A command of Chromium's own."""
        body = {"cmd": command, "params": params}
        return self._call("POST", f"{self._session}/goog/cdp/execute", body)

    def resize(self, width: int, height: int) -> None:
        """Give the page a size, a phone's too."""
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def open(self, url: str) -> None:
        """Load a page."""
        self._call("POST", f"{self._session}/url", {"url": url})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value that a script returns."""
        body = {"script": script, "args": list(arguments)}
        return self._call("POST", f"{self._session}/execute/sync", body)

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        actions = [{"type": kind, "value": k} for k in keys for kind in ("keyDown", "keyUp")]
        source = {"type": "key", "id": "keyboard", "actions": actions}
        self._call("POST", f"{self._session}/actions", {"actions": [source]})

    def messages(self) -> list[str]:
        """What the console was told since the last call."""
        entries = self._call("POST", f"{self._session}/se/log", {"type": "browser"})
        return [f"{entry['level']}: {entry['message']}" for entry in entries]

    def picture(self, path: Path) -> None:
        """A picture of the whole page."""
        size = self.cdp("Page.getLayoutMetrics")["cssContentSize"]
        made = self.cdp(
            "Page.captureScreenshot",
            captureBeyondViewport=True,
            clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1},
        )
        path.write_bytes(base64.b64decode(made["data"]))
