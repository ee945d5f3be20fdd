"""Models read once more, by code of the checker's own: what is double here is so on purpose."""
