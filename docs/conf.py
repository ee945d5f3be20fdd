"""How the documentation is built: ``make docs``, warnings are errors."""

import os
from importlib import import_module
from typing import Any

from axfi_kc import __version__

os.environ["MPLBACKEND"] = "agg"  # examples draw without a screen

project = "axfi_kc"
author = "the axfi_kc developers"
release = version = __version__
copyright = author  # noqa: A001 (Sphinx reads this name)

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "examples", "gallery/**/*.ipynb", "gallery/**/*.py"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb", ".rst": "restructuredtext"}
nb_execution_mode = "off"  # docs/make_notebooks.py has executed them
myst_enable_extensions = ["dollarmath", "colon_fence", "attrs_block", "attrs_inline"]
myst_heading_anchors = 3

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
nitpicky = False

# Every example runs when the pages are built, and one that fails ends the build.
sphinx_gallery_conf = {
    "examples_dirs": ["examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "subsection_order": ["examples/explain", "examples/compile"],
    "within_subsection_order": "ExampleTitleSortKey",
    "nested_sections": True,
    "copyfile_regex": r"(?!)",
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
    "capture_repr": ("_repr_html_", "__repr__"),
    "ignore_repr_types": r"matplotlib\..*",
    "doc_module": ("axfi_kc",),
    "reference_url": {"axfi_kc": None},
    "prefer_full_module": {r"axfi_kc\..+"},
    "min_reported_time": 15,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "plot_gallery": True,
}

html_theme = "furo"
html_title = f"axfi_kc {version}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sphinx = False
suppress_warnings = ["ref.python"]  # several targets have an attribute called bytes


def setup(app: Any) -> None:
    """Resolve names in signatures that say where a class is defined, and not where it is documented."""
    app.connect("missing-reference", _documented_elsewhere)


def _documented_elsewhere(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Return a link to the same object under its public name; None if there is none."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    for public in _public_names(env).get(target.rpartition(".")[2], ()):
        if public != target and _same(public, target):
            domain = env.get_domain("py")
            return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", public, node, content)
    return None


def _public_names(env: Any) -> dict[str, list[str]]:
    """Return the documented names by their last part."""
    names: dict[str, list[str]] = {}
    for name in env.get_domain("py").objects:
        names.setdefault(name.rpartition(".")[2], []).append(name)
    return names


def _same(public: str, target: str) -> bool:
    """Tell whether two dotted names are one object; a bare name is taken for the documented one."""
    return "." not in target or _object(public) is _object(target) is not None


def _object(name: str) -> Any:
    module, _, last = name.rpartition(".")
    try:
        return getattr(import_module(module), last, None)
    except (ImportError, ValueError):
        return None
