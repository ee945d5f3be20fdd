"""Target languages: circuits in the hands of other libraries or our own, and the way back."""

from axfi_kc.targets.bit_codes import CODES, Bit, bits_of
from axfi_kc.targets.ddnnf import Ddnnf, ddnnf_of
from axfi_kc.targets.mdd import Mdd, mdd_of
from axfi_kc.targets.obdd import Obdd, obdd_of
from axfi_kc.targets.protocols import Closed, Target
from axfi_kc.targets.registry import TARGETS, options_of, target_of
from axfi_kc.targets.reordering import reordered, sifted
from axfi_kc.targets.sdd import Sdd, sdd_of
from axfi_kc.targets.vtrees import Vtree

__all__ = [
    "CODES",
    "TARGETS",
    "Bit",
    "Closed",
    "Ddnnf",
    "Mdd",
    "Obdd",
    "Sdd",
    "Target",
    "Vtree",
    "bits_of",
    "ddnnf_of",
    "mdd_of",
    "obdd_of",
    "options_of",
    "reordered",
    "sdd_of",
    "sifted",
    "target_of",
]
