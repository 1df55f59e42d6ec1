"""Production traffic, judged as it comes: a source, a sample of it, a run for each day."""
