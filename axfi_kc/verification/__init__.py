"""An independent checker of explanations.

Of the library it uses the domain and nothing else; an import contract says so.
"""

from axfi_kc.verification.claim import Claim
from axfi_kc.verification.report import Check, Report
from axfi_kc.verification.verify import verify

__all__ = ["Check", "Claim", "Report", "verify"]
