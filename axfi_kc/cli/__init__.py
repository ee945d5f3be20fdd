"""The command ``axfi-kc``."""

from axfi_kc.cli.main import main

__all__ = ["main"]
