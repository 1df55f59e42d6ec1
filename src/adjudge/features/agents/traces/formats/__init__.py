"""One module per format: how to recognise it, and where its data is."""
