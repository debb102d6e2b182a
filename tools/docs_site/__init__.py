"""The documentation site: the parts that mkdocs does not provide."""
