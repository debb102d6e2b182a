"""The clients for Python in turn, on one broker: `./dev bench clients` measures what `contests` has."""
