"""What the job `audit` looks at, what must hold of it, and its report."""
