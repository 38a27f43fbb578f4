"""The parts of the job `table`: what a run reads, and how the job goes on after a stop."""
