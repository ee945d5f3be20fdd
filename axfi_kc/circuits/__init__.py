"""Circuits over the cells of a domain: what they can be asked, the languages that hold them, their files."""
