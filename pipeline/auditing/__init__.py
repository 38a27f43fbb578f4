"""The audit of topics, tables and sums: its data, its checks and its report."""
