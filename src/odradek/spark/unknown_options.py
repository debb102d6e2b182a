"""What is said of an option that a source or sink does not have."""

from collections.abc import Sequence
from difflib import get_close_matches

from odradek.base.errors import SettingError


def unknown_option(whose: str, name: str, served: Sequence[str], more: str = "") -> SettingError:
    """The refusal of `name`, in lower case, with the served name that it may mean, or with all and `more`."""
    by_lower = {one.lower(): one for one in served}
    close = get_close_matches(name, by_lower, n=1)
    hint = f"did you mean {by_lower[close[0]]}?" if close else f"it has {', '.join(served)}{more}"
    return SettingError(f"the {whose} has no option {name}; {hint}")
