"""The lowest package: ports and their fakes, slices of work, definitions of configs."""
