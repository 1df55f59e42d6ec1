"""Labels by people: store, queue of rows, annotation session, scales, files."""
