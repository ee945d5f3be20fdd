"""The paper's experiments, run again with exact weights."""
