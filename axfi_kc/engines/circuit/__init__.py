"""The engine of circuits that are not ordered: consistency under conditioning, duality, counts."""
