"""HTML pages that open anywhere: style, script and figures are in the file, and it asks nobody for anything.

from onward.pages.inline import make_picture
from onward.pages.page import render_page

text = render_page("progressive/fit_report.html", "A fit", "What came of one pass.", [make_picture(drawing)], …)
"""
