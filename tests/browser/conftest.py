"""One browser for all tests here, which are skipped where there is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.chromium import Tab, chromium, chromium_path


@pytest.fixture(scope="session")
def browser() -> Iterator[Tab]:
    if chromium_path() is None:
        pytest.skip("no Chromium on this machine; install one, or let AXFI_CHROMIUM name it")
    with chromium() as tab:
        yield tab
