"""One module a format: how it is known, and where what stands."""
