"""Which modules pytest must not import here."""

from importlib.util import find_spec

# Doctests import every module, but a reader needs its library; Orange3 lives in an environment of
# its own (make test-orange).
_READERS = {"Orange": "orange", "lightgbm": "lightgbm_models", "xgboost": "xgboost_models"}

collect_ignore = [f"axfi_kc/compilers/{module}.py" for library, module in _READERS.items() if not find_spec(library)]
