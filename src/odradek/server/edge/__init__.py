"""Where clients come in: listeners, connections admitted, frames dispatched to their handlers."""
