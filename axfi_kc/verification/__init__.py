"""An independent checker of explanations.

Of the library it uses the domain and nothing else; an import contract says so.
"""

from axfi_kc.verification.checking import verify
from axfi_kc.verification.checks import Check, Report
from axfi_kc.verification.claims import Claim

__all__ = ["Check", "Claim", "Report", "verify"]
