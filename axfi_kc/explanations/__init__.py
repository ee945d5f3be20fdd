"""Explanations of instances: CXps and AXps, scores, counterfactuals, files, tables and pages."""
