"""One module per format, which recognises the format and finds its data."""
