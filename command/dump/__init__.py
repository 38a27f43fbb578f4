"""`ottla dump-log`: the files of a data folder, in words and in JSON."""
