"""The site of the documentation: what mkdocs does not do by itself."""
