"""Sphinx: the documentation site.

sphinx-build -W -b html docs docs/_build/html                      with the gallery's pictures
sphinx-build -W -D plot_gallery=0 -b html docs docs/_build/html    text only, under a minute
"""

import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the gallery's networks are small

import docstrings  # noqa: E402

import combred  # noqa: E402

project = "combred"
copyright = "combred contributors"
version = release = combred.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery"]

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": "plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "copyfile_regex": r".*\.rst",
}
suppress_warnings = ["config.cache"]  # sphinx-gallery's settings cannot be pickled

html_theme = "furo"
html_css_files = ["wrap.css"]
html_static_path = ["static"]
html_title = f"combred {release}"


def link_gallery(app, name, source):
    """Pages link files of the repository, so that links work there; here, the pages of these."""
    source[0] = re.sub(r"\(gallery/(plot_\w+)\.py\)", r"(examples/\1.rst)", source[0])
    for file, page in {"coupling/README": "openfoam", "data/README": "data"}.items():
        source[0] = source[0].replace(f"](../{file}.md", f"]({page}.md")


def setup(app):
    app.connect("autodoc-process-docstring", docstrings.process)
    app.connect("source-read", link_gallery)
