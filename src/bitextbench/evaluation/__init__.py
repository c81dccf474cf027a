"""Evaluation tasks: what the papers measure without training a translation model. One file a task.

Every metric is a dictionary: metric, value (percent, if it is a rate), interval (95%, bootstrap), n (units resampled), seed,
signature.
"""
