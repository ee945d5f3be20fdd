"""Toys register themselves when they are imported, so pytest does not import them to look for doctests."""

collect_ignore_glob = ["*.py"]
