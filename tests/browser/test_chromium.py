"""The browser that judges pages sees what is wrong with one."""

from __future__ import annotations

from pathlib import Path

from tests.browser.pages import write
from tests.support.chromium import Tab

WRONG = """<!DOCTYPE html><title>wrong</title><img src="http://127.0.0.1:9/x.png">
<p style="width: 500px">wide</p><script>console.error("heard"); missing();</script>"""


def test_the_browser_tells_of_errors_and_requests(browser: Tab, tmp_path: Path) -> None:
    browser.open(write(tmp_path, "wrong", WRONG), width=390)
    browser.wait_until("document.readyState === 'complete'")
    told = " ".join(browser.problems)
    assert "heard" in told
    assert "missing is not defined" in told
    assert "http://127.0.0.1:9/x.png" in browser.requests
    assert browser.run("document.documentElement.scrollWidth") > 390
