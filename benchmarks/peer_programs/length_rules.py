"""OpusFilter's rules of length: python length_rules.py A B A.kept B.kept"""

import sys

from opusfilter.opusfilter import OpusFilter

rules = [
    {"LengthFilter": {"unit": "word", "min_length": 3, "max_length": 80}},
    {"LengthRatioFilter": {"unit": "word", "threshold": 2}},
]
step = {"type": "filter", "parameters": {"inputs": sys.argv[1:3], "outputs": sys.argv[3:5], "filters": rules}}
OpusFilter({"common": {"output_directory": "."}, "steps": [step]}).execute_steps(overwrite=True)
