"""Exact SHAP scores: of circuits, and of margins of sums of trees and linear models."""
