"""Small grammars and models, and a search of all derivations for comparison."""

import itertools
import math
import random
from pathlib import Path

from bitextbench.smt import kneser_ney, lm
from bitextbench.smt.words import Vocabulary

HEAD = "source\ttarget\talign\tforward\tbackward"
WEIGHTS = {"forward": 0.7, "backward": 0.4, "glue": 0.3, "unknown": 0.9, "words": -0.2, "rules": 0.1, "lm": 0.6}


def write_model(path: Path, draw: random.Random, order: int = 3) -> Path:
    """A model of random lines of the words A to D."""
    vocabulary = Vocabulary(lm.SPECIAL)
    lines = [" ".join(draw.choices("ABCD", k=draw.randint(1, 6))) for _ in range(20)]
    levels = kneser_ney.smoothed(vocabulary.encode(lines), order, len(vocabulary))
    path.write_text("".join(f"{line}\n" for line in kneser_ney.arpa(levels, vocabulary.words())))
    return path


def write_grammar(path: Path, rules: list[tuple[str, str, list[float]]]) -> Path:
    path.write_text("\n".join([HEAD, *("\t".join([a, b, "", *map(str, values)]) for a, b, values in rules)]) + "\n")
    return path


def random_rules(draw: random.Random, count: int) -> list[tuple[str, str, list[float]]]:
    rules = []
    for _ in range(count):
        gaps = ["[1]", "[2]"][: draw.choice([0, 0, 1, 1, 2])]
        source = draw.choices("abc", k=draw.randint(1, 2))
        for gap in gaps:
            source.insert(draw.randint(0, len(source)), gap)
        target = [*gaps, *draw.choices("ABCDE", k=draw.randint(1, 2))]
        draw.shuffle(target)
        if source.index("[1]" if gaps else source[0]) > source.index(gaps[-1] if gaps else source[0]):
            source = [{"[1]": "[2]", "[2]": "[1]"}.get(token, token) for token in source]
        rules.append((" ".join(source), " ".join(target), [round(draw.uniform(-3, 0), 3) for _ in range(2)]))
    return rules


def derivations(words: tuple[str, ...], rules: list, span: int) -> list[tuple[tuple[str, ...], float]]:
    """All ways to translate words: their tokens and the score without the language model."""
    w = WEIGHTS
    known = {a for a, _, _ in rules}
    rules = [(a.split(), b.split(), values) for a, b, values in rules]
    memo: dict = {}

    def matches(symbols, begin, end):
        if not symbols:
            return [{}] if begin == end else []
        if symbols[0] not in ("[1]", "[2]"):
            return matches(symbols[1:], begin + 1, end) if begin < end and words[begin] == symbols[0] else []
        return [
            {symbols[0]: (begin, at), **more}
            for at in range(begin + 1, end + 1)
            for more in matches(symbols[1:], at, end)
        ]

    def of(begin, end):
        if (begin, end) in memo or end - begin > span:
            return memo.get((begin, end), [])
        found = []
        for source, target, values in rules:
            cost = w["forward"] * values[0] + w["backward"] * values[1] - w["rules"]
            cost -= w["words"] * sum(token not in ("[1]", "[2]") for token in target)
            for match in matches(source, begin, end):
                for parts in itertools.product(*(of(*match[gap]) for gap in match)):
                    filled = dict(zip(match, parts, strict=True))
                    tokens = [word for token in target for word in (filled[token][0] if token in filled else [token])]
                    found.append((tuple(tokens), cost + sum(part[1] for part in parts)))
        if end == begin + 1 and words[begin] not in known:
            found.append(((words[begin],), -w["unknown"] - w["words"] - w["rules"]))
        memo[begin, end] = found
        return found

    sentences = {0: [((), 0.0)]}
    for end in range(1, len(words) + 1):
        sentences[end] = [
            (left[0] + right[0], left[1] + right[1] - (w["glue"] if begin else 0))
            for begin in range(end)
            for left in sentences[begin]
            for right in of(begin, end)
        ]
    return sentences[len(words)]


def exhaustive(words, rules, span, model) -> list[tuple[float, str]]:
    """The score of each translation by its best derivation, the best first; `model`: kenlm's."""
    best: dict = {}
    for tokens, score in derivations(tuple(words), rules, span):
        line = " ".join(tokens)
        best[line] = max(score, best.get(line, -math.inf))
    scored = [(score + WEIGHTS["lm"] * math.log(10) * model.score(line), line) for line, score in best.items()]
    return sorted(scored, reverse=True)
