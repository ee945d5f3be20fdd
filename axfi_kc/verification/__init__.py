"""An independent checker of explanations: it shares the domain and the asking of ``predict``, nothing that explains."""

from axfi_kc.verification.claim import Claim
from axfi_kc.verification.report import Check, Report
from axfi_kc.verification.verify import verify

__all__ = ["Check", "Claim", "Report", "verify"]
