"""Data sets → instances, streamed: files, standard input, data frames, lists."""
