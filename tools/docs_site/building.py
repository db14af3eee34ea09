"""What the build of the site does beyond Sphinx: pages that are made, Markdown as it is read, and what comes after."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging

from tools.docs_site.api_pages import write_api_pages
from tools.docs_site.command_line import command_line_page
from tools.docs_site.docstrings import to_rst
from tools.docs_site.examples import ExampleError, page_outputs
from tools.docs_site.http_page import http_page
from tools.docs_site.llms import REFERENCE_FILE, included_sources, llms_text, reference_text
from tools.docs_site.markdown import included_file, site_text
from tools.docs_site.signatures import shorten_signature
from tools.docs_site.tree import DOCS, EXPLORER, TREE

EXPLORER_FILE = "explorer-alone.html"
_EXPLORER_FRAME = f"""
```{{raw}} html
<iframe class="explorer" src="{EXPLORER_FILE}" title="The explorer of Onward"></iframe>
<p><a href="{EXPLORER_FILE}">Open it alone</a></p>
```

"""
_LOG = logging.getLogger(__name__)

# Okabe and Ito's colours, which most eyes tell apart, less the yellow.
_STYLE: dict[str, Any] = {
    "axes.prop_cycle": ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "figure.figsize": (7.2, 4.0),
    "figure.dpi": 100,
    "figure.constrained_layout.use": True,
    "savefig.transparent": True,
    "font.size": 10,
    "lines.linewidth": 1.8,
    "image.cmap": "cividis",
}


def gallery_style(gallery_conf: Any, fname: Any, when: Any = None) -> None:
    """Give every gallery script the same look, whatever the script before it has set."""
    import matplotlib as mpl
    from cycler import cycler

    mpl.use("agg")
    mpl.rcdefaults()
    colours: Any = {"axes.prop_cycle": cycler(color=_STYLE["axes.prop_cycle"])}
    mpl.rcParams.update(_STYLE | colours)


def figure_scraper(block: Any, block_vars: dict[str, Any], gallery_conf: Any) -> str:
    """The last figure that a script names and that pyplot does not hold, as the plots of the package give them."""
    from matplotlib.figure import Figure
    from sphinx_gallery.scrapers import figure_rst

    values = block_vars["example_globals"].values() if block[0] == "code" else ()
    figures = [each for each in values if isinstance(each, Figure) and each.canvas.manager is None]
    if not figures:
        return ""
    path = Path(next(block_vars["image_path_iterator"]))
    twice = path.with_name(f"{path.stem}_2_00x.png")
    figures[-1].savefig(path)
    figures[-1].savefig(twice, dpi=200)
    sources = [{0: str(path), 2.0: str(twice)}]
    return str(figure_rst([str(path)], gallery_conf["src_dir"], figures[-1].get_suptitle(), srcsetpaths=sources))


def setup_site(app: Sphinx) -> dict[str, Any]:
    """Sphinx's entry: connect what is here."""
    app.connect("config-inited", _write_made_pages)
    app.connect("source-read", _read)
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("autodoc-process-docstring", to_rst, priority=400)  # napoleon's is 500
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": False, "parallel_write_safe": True}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def _write_made_pages(app: Sphinx, config: Config) -> None:
    write_api_pages(DOCS / "api")
    _write(DOCS / "api" / "command_line.md", command_line_page())
    _write(DOCS / "api" / "http.md", http_page())


def _read(app: Sphinx, docname: str, source: list[str]) -> None:
    path = Path(app.env.doc2path(docname))
    if path.suffix != ".md" or docname.startswith(("api/", "pictures/")):
        return
    if included := included_file(path):
        app.env.note_dependency(str(included))  # so that the page is read again when that file has changed
    try:
        outputs = page_outputs(path, Path(app.outdir).parent / "outputs")
    except ExampleError as error:
        _LOG.warning("an example failed: %s", error, location=docname)
        outputs = {}
    source[0] = site_text(path, source[0], outputs, TREE.get(docname, []))
    if docname == EXPLORER:
        title, rest = source[0].split("\n", 1)
        source[0] = f"{title}\n{_EXPLORER_FRAME}{rest}"


def _finish(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.name != "html":
        return
    out = Path(app.outdir)
    (out / "llms.txt").write_text(llms_text(), "utf-8")
    (out / REFERENCE_FILE).write_text(reference_text(), "utf-8")
    for name, text in included_sources().items():
        (out / "_sources" / f"{name}.md.txt").write_text(text, "utf-8")
    command = [sys.executable, "-m", "onward", "explore", "--out", str(out / EXPLORER_FILE), "--no-browser"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        _LOG.warning("the explorer was not written: %s", done.stderr.strip())
