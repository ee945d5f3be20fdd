"""Additions as a stranger writes them: each is one file, which registers itself once.

They are imported as modules of their own (``import toy_score``), the way somebody else's package would be; see
``tests/test_additions.py``.
"""
