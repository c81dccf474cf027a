"""The stages of a run in words, and how far it is."""

from collections import Counter
from collections.abc import Mapping

from bitextbench.base.progress import count_of

STAGES = {
    "fetching data sets": {"fetch", "packaged"},
    "making the corpora": {"corpus", "language_model"},
    "cutting text into tokens and pieces": {
        "bpe", "features", "ids", "skip_gram", "tokens", "wordpiece_ids", "wordpieces",
    },
    "training sentence encoders": {"encode_words", "hard_negatives", "map_words", "pretrained", "train_encoder"},
    "encoding sentences": {"encode", "encode_pretrained", "measure_encoder"},
    "training language and translation models that score": {"likelihood_data", "likelihood_train", "likelihoods"},
    "scoring, searching and selecting pairs": {
        "fit_similarity", "fit_text_similarity", "merge_neighbours", "mine_blocks", "mine_corpus", "neighbourhoods",
        "published_scores", "score", "search_block", "searched", "select", "select_pairs", "selected_pairs",
        "tune_confidence",
    },
    "training translation models": {
        "nmt_prepare", "nmt_train", "training_text", "translation_prepare", "translation_train",
    },
    "statistical translation": {
        "smt_align", "smt_bleu", "smt_decode", "smt_grammar", "smt_language_model", "smt_significance",
        "smt_similarity", "smt_text", "smt_tune",
    },
    "measuring: accuracy, F1, BLEU": {
        "agreement", "alignment", "bleu", "development_bleu", "distribution", "documents", "encoder_cost",
        "mined_examples", "mining", "posteriors", "quality", "recognition", "reconstruction", "rescoring",
        "rescoring_pairs", "selection_precision", "separation", "shares", "significance", "size", "sweep",
        "train_rescorer", "translation", "translation_significance", "validation_bleu",
    },
}  # fmt: skip
TABLES = "writing tables and report"  # every other rule
UNKNOWN = 5.0  # seconds of a job whose rule was never measured


def stage_of(rule: str) -> str:
    return next((stage for stage, rules in STAGES.items() if rule in rules), TABLES)


class Run:
    """A run of `jobs` of each rule, which take `seconds` each; `now` is when it begins (times in seconds)."""

    def __init__(self, jobs: Mapping[str, int], seconds: Mapping[str, float], now: float) -> None:
        self.begun = now
        self.cost = {rule: seconds.get(rule, UNKNOWN) for rule in jobs}
        order = [*STAGES, TABLES]
        self.jobs = Counter[str]()
        for rule, count in jobs.items():
            self.jobs[stage_of(rule)] += count
        self.stages = [stage for stage in order if self.jobs[stage]]
        self.total = sum(count * self.cost[rule] for rule, count in jobs.items())
        self.rules: dict[int, str] = {}  # of each job
        self.running: dict[int, float] = {}  # since when
        self.done = Counter[str]()  # jobs of each stage
        self.work = 0.0  # expected seconds of the jobs that have ended
        self.begun_stages: set[str] = set()

    def opening(self) -> str:
        return f"{count_of(sum(self.jobs.values()), 'job')} in {count_of(len(self.stages), 'stage')}"

    def start(self, job: int, rule: str, now: float) -> str:
        """Note that a job has started; a line if a stage begins with it, else ""."""
        self.rules[job], self.running[job] = rule, now
        self.cost.setdefault(rule, UNKNOWN)
        stage = stage_of(rule)
        if stage in self.begun_stages or stage not in self.stages:
            return ""
        self.begun_stages.add(stage)
        number, jobs = self.stages.index(stage) + 1, self.jobs[stage]
        return f"{self.clock(now)}  {number} of {len(self.stages)}  {stage} ({count_of(jobs, 'job')})"

    def finish(self, job: int) -> None:
        """Note that a job has ended."""
        if self.running.pop(job, None) is not None:
            self.done[stage_of(self.rules[job])] += 1
            self.work += self.cost[self.rules[job]]

    def share(self, now: float) -> float:
        """The share of the work that is done, in [0, 1]; a running job counts at most .95 of what it is expected to take."""
        running = sum(min(now - since, 0.95 * self.cost[self.rules[job]]) for job, since in self.running.items())
        return min(1.0, (self.work + running) / self.total) if self.total else 1.0

    def progress(self, now: float) -> str:
        """How far the run is, and what it is at."""
        share = self.share(now)
        at = Counter(stage_of(self.rules[job]) for job in self.running)
        what = ", ".join(f"{stage} {self.done[stage]}/{self.jobs[stage]}" for stage in self.stages if at[stage])
        left = f", about {span((now - self.begun) * (1 - share) / share)} left" if share > 0.03 else ""
        return f"{self.clock(now)}  {share:4.0%}{left}: {what or 'waiting'}"

    def closing(self, now: float) -> str:
        return f"{self.clock(now)}  {sum(self.done.values()):,} of {count_of(sum(self.jobs.values()), 'job')} done"

    def clock(self, now: float) -> str:
        minutes, seconds = divmod(int(now - self.begun), 60)
        return f"[{minutes:3}:{seconds:02}]"


def span(seconds: float) -> str:
    """A time in words, of few digits."""
    if seconds < 90:
        return f"{max(5, round(seconds / 5) * 5)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
