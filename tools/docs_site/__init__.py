"""How the documentation site is made of Markdown pages, gallery scripts and the package itself."""
