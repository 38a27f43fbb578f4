"""The job `table`, killed with kill -9 at random moments, and what its table holds then."""
