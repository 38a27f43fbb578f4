"""The parts of the job `table`: the plan of a run, and the state with which the job goes on after a
stop."""
