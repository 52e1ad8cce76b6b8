"""Chromium, for the tests that look at pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

__all__ = ["PATIENCE", "chromium", "installed"]

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 300_000  # milliseconds: a busy machine is not a fault


def installed() -> str | None:
    """The path of the browser."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser; the test is skipped where there is none, and fails in CI."""
    path = installed()
    if path is None:
        reason = f"none of {', '.join(NAMES)} is installed; `make browser` says how"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, timeout=PATIENCE)
        yield browser
        browser.close()
