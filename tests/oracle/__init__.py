"""Slow twins and audits that tests and benchmarks share: random policies, neighbouring tables, losses."""
