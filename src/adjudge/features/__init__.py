"""One folder per capability. Nothing below imports a feature."""
