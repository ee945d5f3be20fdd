"""The engine of single trees and tables: boxes that cover the space, one pass, no search."""
