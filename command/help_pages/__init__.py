"""The pages that `--help` prints: the parts that click lacks or prints otherwise."""
