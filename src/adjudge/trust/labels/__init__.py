"""People's labels: their store, the queue of rows, the session of an annotator, scales, files."""
