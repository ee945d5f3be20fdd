"""The CXp-Forest and every score of features."""
