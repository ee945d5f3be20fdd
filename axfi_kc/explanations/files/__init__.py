"""Explanations in files, exactly: documents in JSON, and results that are appended row by row."""

from axfi_kc.explanations.files.domain_document import domain_document, domain_of

__all__ = ["domain_document", "domain_of"]
