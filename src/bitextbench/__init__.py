"""Reproducible benchmarks of parallel-corpus mining and filtering."""

__version__ = "0.1.0"
