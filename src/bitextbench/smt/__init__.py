"""A hierarchical phrase-based system (Chiang 2007), in which zhang2016 measures the similarity of phrases: tables 1 and
3.
"""
