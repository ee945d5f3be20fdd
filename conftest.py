"""Which modules pytest must not import here."""

from importlib.util import find_spec

# Doctests import every module, but Orange3 lives in an environment of its own (make test-orange).
collect_ignore = [] if find_spec("Orange") else ["axfi_kc/compilers/orange.py"]
