"""The ground floor: ports and their fakes, slices of work, definitions of configs."""
