"""The command ``axfi-kc``: a module per group of commands, ``options`` and ``inputs`` they share."""

from axfi_kc.cli.main import main

__all__ = ["main"]
