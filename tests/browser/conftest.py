"""One browser for all tests here. Without Chromium only one is left, which is skipped and says so in a line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.chromium import Tab, chromium, chromium_path

collect_ignore = [] if chromium_path() else ["test_explore.py", "test_pages.py"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Tab]:
    if chromium_path() is None:
        pytest.skip("pages are not tested, as there is no Chromium here; install one, or let AXFI_CHROMIUM name it")
    with chromium() as tab:
        yield tab
