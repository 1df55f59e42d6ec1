"""The local page: look at runs, label their rows, compare them, in a browser."""
