"""Write what a job of each rule takes, from the provenance of a finished run: the progress of the next run is weighted by it.

python benchmarks/seconds.py small      # results/small/table2.provenance.json -> profiles/small/seconds.csv
"""

import csv
import json
import sys
from pathlib import Path


def main(run: str) -> None:
    rules = json.loads(Path(f"results/{run}/table2.provenance.json").read_text(encoding="utf-8"))["rules"]
    with open(f"profiles/{run}/seconds.csv", "w", encoding="utf-8", newline="") as out:
        lines = csv.writer(out, lineterminator="\n")
        lines.writerow(["rule", "seconds"])
        lines.writerows(sorted((rule["rule"], round(rule["wall_s_sum"] / rule["jobs"], 1)) for rule in rules))


if __name__ == "__main__":
    main(*sys.argv[1:])
