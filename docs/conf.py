"""The documentation site: `make docs` builds it into docs/_build/html, and needs no network."""

import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from tools.docs_site.building import figure_scraper, gallery_style, setup_site  # noqa: E402
from tools.docs_site.tree import EXPLORER, TREE  # noqa: E402

project = "Onward"
author = "The Onward developers"
copyright = "The Onward developers. BSD-3-Clause"
version = release = installed_version("onward")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.githubpages",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery", "_static", "pictures/sg_execution_times*", "sg_execution_times*"]
templates_path = ["_templates"]
default_role = "code"  # docstrings and pages are written with single backticks
highlight_language = "text"
smartquotes_action = "D"  # dashes; quotes stay as they are written
pygments_style = "a11y-high-contrast-light"
suppress_warnings = ["config.cache", "misc.highlighting_failure"]  # JSON and console lines with "…" in them

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 90
python_use_unqualified_type_names = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_preprocess_types = False
napoleon_use_rtype = False
napoleon_use_ivar = True
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "Onward"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["onward.css"]
html_js_files = ["labels.js", "explorer_frame.js"]
html_copy_source = True
html_show_sphinx = False
html_context = {"default_mode": "auto"}  # without it the theme complains on the console of each new reader
html_last_updated_fmt = None
html_sidebars = {page: [] for page in ("index", "pictures/index", EXPLORER)}  # pages with nothing beside them
html_theme_options = {
    "logo": {"text": "Onward", "alt_text": "Onward"},
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "show_nav_level": 1,
    "navigation_depth": 3,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "back_to_top_button": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    # The explorer and two columns of code need the room.
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        **{page: [] for page in ("index", EXPLORER, *TREE["coming_from/index"])},
    },
}

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "pictures",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": (gallery_style,),
    "reset_modules_order": "both",
    "image_srcset": ["2x"],
    # Ours comes first: pyplot lets go of its figures when they have been taken, and they look like the package's then.
    "image_scrapers": (figure_scraper, "matplotlib"),
    "capture_repr": (),  # pictures and what is printed; a last line's value would be an address in memory
    "matplotlib_animations": False,
    "doc_module": ("onward",),
    "backreferences_dir": "api/backreferences",
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "abort_on_example_error": True,
    "min_reported_time": 1e6,
}

setup = setup_site
