"""`ottla dump-log`: the files of a data folder, as text and as JSON."""
