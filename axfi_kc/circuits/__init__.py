"""The circuit over cells of a domain, what it can be asked, the languages that hold it, and its files."""
