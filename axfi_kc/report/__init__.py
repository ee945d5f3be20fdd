"""Explanations as one HTML file that needs nothing else: no server, no network, no other file."""

from axfi_kc.report.pages import report_html, write_report

__all__ = ["report_html", "write_report"]
