"""HTML pages that open anywhere: style, script and figures are in the file, and it asks nobody for anything.

from onward.pages import inline, page, parts

drawn = inline.picture(drawing)
text = page.page("A fit", "What came of one pass.", f"<h1>A fit</h1>{parts.figure(drawing, drawn)}", [drawn])
"""
