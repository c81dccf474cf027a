"""Evaluation tasks, one file each.

Every metric is a dictionary: metric, value (in percent, if it is a rate), interval (95%, bootstrap), n (resampled
units), seed, signature.
"""
