"""Domains come back from documents."""

from __future__ import annotations

import json

from hypothesis import given, settings

import axfi_kc as ax
from axfi_kc.explanations.files import domain_document, domain_of
from tests.support import strategies


@given(strategies.domains())
@settings(max_examples=60, deadline=None)
def test_domains_come_back(domain: ax.Domain) -> None:
    back = domain_of(json.loads(json.dumps(domain_document(domain))))
    assert back == domain
    assert [f.columns for f in back.features] == [f.columns for f in domain.features]
