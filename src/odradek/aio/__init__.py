"""The asyncio clients of Odradek: their public names, each loaded when it is first used."""

from odradek.base.lazy_names import lazy_names

__all__: list[str] = []

__getattr__ = lazy_names(__name__, {})
