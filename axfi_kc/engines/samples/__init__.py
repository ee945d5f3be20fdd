"""Samples: rows of a data set as the space."""
