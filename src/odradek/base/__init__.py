"""Ids, errors and their codes, ports for clock and chance, settings and limits. Imports no other package."""
