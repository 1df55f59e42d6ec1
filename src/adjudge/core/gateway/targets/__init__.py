"""Applications that answer: a command, an endpoint, a function. Each is asked like a model."""
