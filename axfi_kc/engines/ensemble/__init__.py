"""The engine of sums of trees, boosted trees and forests.

One branch and bound over the space finds all CXps of an instance; a second one covers the
adversarial examples of each by disjoint boxes, whose measures add up to its weight. Nothing is
sampled, and every comparison is made in integers.
"""

from axfi_kc.engines.ensemble.engine import EnsembleEngine
from axfi_kc.engines.ensemble.one_class import ClassEngine

__all__ = ["ClassEngine", "EnsembleEngine"]
