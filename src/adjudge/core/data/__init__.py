"""Stream instances from data sets: files, standard input, data frames, lists."""
