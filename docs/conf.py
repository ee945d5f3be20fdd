"""How the documentation is built: ``make docs``, warnings are errors."""

from axfi_kc import __version__

project = "axfi_kc"
author = "the axfi_kc developers"
release = version = __version__
copyright = author  # noqa: A001 (Sphinx reads this name)

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": False}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
nitpicky = False

html_theme = "furo"
html_title = f"axfi_kc {version}"
html_copy_source = False
html_show_sphinx = False
suppress_warnings = ["ref.python"]  # several targets have an attribute called bytes
