"""The command ``axfi-kc``."""

from axfi_kc.cli.command import main

__all__ = ["main"]
