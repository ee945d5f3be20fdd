"""The engine of ordered diagrams: families of CXps too large to list."""
