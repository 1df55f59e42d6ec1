"""The command line: one file a command, calling only what Python users call."""
