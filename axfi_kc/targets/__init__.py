"""Target languages: circuits in the hands of other libraries, and the way back."""

from axfi_kc.targets.bit_codes import CODES, Bit, bits_of
from axfi_kc.targets.obdd import Obdd, obdd_of

__all__ = ["CODES", "Bit", "Obdd", "bits_of", "obdd_of"]
