"""The engine of linear models: CXps as minimal covers of the margin, weights in closed form."""
