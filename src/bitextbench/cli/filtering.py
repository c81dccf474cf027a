"""Commands that score pairs and keep the best: `filter`, `score`; part of `cli`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bitextbench.base.errors import InputError
from bitextbench.cli import options as opt
from bitextbench.cli.groups import cli, example
from bitextbench.cli.options import COUNT, INPUT, LANGUAGE, LIMIT, MARGINS, OUT, OUT_OR_DASH, SHARE, Names, OneOf, Spec


def scorer_options(command: Callable[..., None]) -> Callable[..., None]:
    """The arguments that `filter` and `score` share: the pairs, and what scores them."""
    command.__doc__ = (command.__doc__ or "").replace("PAIRS", PAIRS)
    return opt.with_options(command, SCORER_OPTIONS)


PAIRS = """Line n of A belongs to line n of B. Or A alone has the pairs: text with tabs, JSON lines, TMX (each plain or
    packed), Parquet, or a Moses zip. - is standard input."""
SCORER_OPTIONS = (
    click.argument("texts", type=INPUT, nargs=-1, required=True, metavar="A [B]"),
    click.option("--columns", type=Names(3), default=(), help=f"Columns of one file of pairs: sources, targets, perhaps ids: {opt.KINDS}"),
    opt.skip_bad_option,
    opt.repair_option,
    opt.encoder_options,
    click.option("--clean", type=INPUT, nargs=2, help="Two aligned texts of good pairs, from which a similarity learns."),
    click.option("--settings", type=Spec(), default="{}", help="Settings of the similarity: its OPTIONS, as in a configuration."),
    click.option("--scorer", type=INPUT, multiple=True, help="A scorer that `filter --save-scorer` wrote."),
    opt.chinese_option,
    opt.seed_option,
    opt.device_option,
    opt.threads_option,
)  # fmt: skip


def pairs_of(texts: tuple[Path, ...], columns: tuple[str, ...], **settings: Any) -> dict[str, Any]:
    """The files of pairs as `formats.pairs` takes them."""
    from bitextbench.formats import pairs

    if len(texts) > 2:
        raise InputError(f"{len(texts)} files are given", texts[2], remedy="give two texts, or one file of pairs")
    return dict(pairs.files(texts, columns, **settings))


def scorers_of(
    similarities: tuple[str, ...],
    files: tuple[Path, ...],
    languages: tuple[str | None, str | None],
    encoder: opt.EncoderChoice,
    chinese: str,
    seed: int,
) -> list[Any]:
    """A scorer for each similarity, and the fitted scorers of some files; all share one encoder, which is muse where none
    is given and one is needed.
    """
    from bitextbench.mining import scorers
    from bitextbench.scoring import declared

    names = [*similarities, *(scorers.fitted(path).name for path in files)]
    needs = [declared(name).needs for name in names]
    wanted = encoder.named or any("vectors" in need for need in needs)
    more: dict[str, Any] = {"encoder": encoder.load() if wanted else None, "chinese": chinese, "seed": seed}
    return [
        *(scorers.Scorer(name, languages, **more) for name in similarities),
        *(scorers.opened(path, languages, **more) for path in files),
    ]


ONE_AMOUNT = "With a score exactly one of --words, --pairs, --share, --threshold is needed."


def check_name(similarity: str) -> None:
    """Raises InputError for an unknown similarity, for several in one option, and for a margin."""
    from bitextbench.scoring import declared

    if "," in similarity:
        again = " ".join(f"--similarity {name.strip()}" for name in similarity.split(","))
        raise InputError(f"{similarity!r} is not one name", "--similarity", remedy=f"repeat the option: {again}")
    if similarity in MARGINS:
        remedy = f"give `filter` --margin {similarity}; `score` has none, as a margin needs the whole crawl"
        raise InputError(f"{similarity} is a margin", "--similarity", remedy=remedy)
    declared(similarity)


def score_of(
    similarity: str | None, margin: str | None, settings: dict[str, Any], wanted: bool
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The similarity that `filter` scores by, none or one, and its settings; a margin where a score is `wanted`.

    Raises InputError for a margin of a similarity that has none, and as `check_name` does.
    """
    if similarity:
        check_name(similarity)
    if margin is None:
        return ((similarity or "margin",) if wanted or similarity else ()), settings
    if similarity not in (None, "margin"):
        remedy = "leave out one of --similarity and --margin"
        raise InputError(f"{similarity} has no margin", "--margin", remedy=remedy)
    return ("margin",), settings | {"margin": "absolute" if margin == "cosine" else margin}


@cli.command(
    "filter", epilog=example("filter crawl.de crawl.en --src-language de --tgt-language en --share 0.3 -o good.tsv.gz")
)
@scorer_options
@click.option("--src-language", type=LANGUAGE, required=True, help="Language code of the sources.")
@click.option("--tgt-language", type=LANGUAGE, required=True, help="Language code of the targets.")
@click.option(
    "--rules",
    type=Spec(),
    help="Rules instead of those of Artetxe and Schwenk 2019: max_tokens: 80, language: py3langid, ...",
)
@opt.cache_option
@click.option(
    "--similarity", help="Score of a pair: margin (the default), cosine, mlp, zipporah, ...: `list similarities`."
)
@click.option(
    "--margin",
    type=OneOf(("cosine", *MARGINS)),
    help="Which margin; the default is ratio with any encoder. With muse, cosine (or absolute, which is the same) is about as good by the labels of people; with weaker encoders a margin is better. `list margins` has formulas.",
)
@click.option("--save-scorer", type=OUT, help="Save what the similarity has learned: one file, .npz.")
@click.option(
    "--words",
    type=COUNT,
    help=f"Keep the best pairs until this many words of the targets are reached, and those as good as the last. {ONE_AMOUNT}",
)
@click.option("--pairs", type=COUNT, help=f"Keep this many of the best pairs. {ONE_AMOUNT}")
@click.option("--share", type=SHARE, help=f"Keep this share of the pairs that pass the rules. {ONE_AMOUNT}")
@click.option("--threshold", type=LIMIT, help=f"Keep the pairs that score at least this. {ONE_AMOUNT}")
@click.option(
    "--explain",
    type=OUT_OR_DASH,
    help="Write what became of each line: number, fate, score (.tsv, .tsv.gz; - is standard output).",
)
@click.option(
    "-o",
    "--out",
    type=OUT_OR_DASH,
    required=True,
    help="Score (0.0 if nothing is scored, as readers want a number), ids or line numbers, sentences: .tsv, .tsv.gz, .parquet, .tmx; - is TSV on standard output.",
)
def filter_command(
    texts: tuple[Path, ...],
    columns: tuple[str, ...],
    skip_bad: bool,
    repair: bool,
    src_language: str,
    tgt_language: str,
    rules: dict[str, Any] | None,
    encoder: opt.EncoderChoice,
    cache: Path | None,
    similarity: str | None,
    margin: str | None,
    clean: tuple[Path, ...] | None,
    settings: dict[str, Any],
    scorer: tuple[Path, ...],
    save_scorer: Path | None,
    chinese: str,
    seed: int,
    words: int | None,
    pairs: int | None,
    share: float | None,
    threshold: float | None,
    explain: Path | None,
    out: Path,
    **more: Any,
) -> None:
    """Filter a crawl of pairs by rules, copies and scores.

    PAIRS

    Drops what the rules reject, then copies, then low scores, and keeps the order of lines. Scores are margins by muse,
    unless an encoder or a similarity is named. Exactly one of --words, --pairs, --share and --threshold says how much is
    kept. Without these and without a scorer nothing is scored, and all pairs that pass the rules are kept.
    """
    from bitextbench.mining import crawl

    if len(scorer) + bool(similarity or margin) > 1:
        raise InputError("more than one scorer is given", remedy="give one --similarity or --margin, or one --scorer")
    limit = crawl.Limit(words, pairs, share, threshold)
    wanted = not scorer and (encoder.named is not None or limit != crawl.ALL)
    names, settings = score_of(similarity, margin, settings, wanted)
    languages = (src_language, tgt_language)

    def load() -> Any:
        return scorers_of(names, scorer, languages, encoder, chinese, seed)[0]

    crawl.filter_crawl(
        pairs_of(texts, columns, skip_bad=skip_bad, repair=repair),
        languages,
        out,
        rules=rules,
        load=load if names or scorer else None,
        limit=limit,
        lesson=crawl.Lesson(clean or (), settings, save_scorer),
        explain=explain,
        folder=cache,
        **more,
    )


@cli.command(epilog=example("score - --similarity cosine --append < pairs.tsv > scored.tsv"))
@scorer_options
@click.option("--src-language", type=LANGUAGE, help="Language code of the sources; a published encoder needs none.")
@click.option("--tgt-language", type=LANGUAGE, help="Language code of the targets.")
@click.option(
    "--similarity",
    "similarities",
    multiple=True,
    help="Score of a pair: cosine, levenshtein, ...; repeat the option for several. No margins: they need the whole crawl.",
)
@click.option(
    "--append",
    is_flag=True,
    help="Write each pair as it was read, and its scores; a line with too few columns is filled up with empty ones.",
)
@click.option("-o", "--out", type=OUT_OR_DASH, default="-", help="A text; - is standard output.")
def score(
    texts: tuple[Path, ...],
    columns: tuple[str, ...],
    skip_bad: bool,
    repair: bool,
    src_language: str | None,
    tgt_language: str | None,
    encoder: opt.EncoderChoice,
    similarities: tuple[str, ...],
    clean: tuple[Path, ...] | None,
    settings: dict[str, Any],
    scorer: tuple[Path, ...],
    chinese: str,
    seed: int,
    append: bool,
    out: Path,
    **_: Any,  # of the encoder, which has them
) -> None:
    """Score pairs in a stream.

    PAIRS

    Writes the scores of each pair on one line. Memory does not grow with the number of pairs.
    """
    from bitextbench.mining import stream

    languages = src_language, tgt_language
    files = pairs_of(texts, columns, languages=languages, skip_bad=skip_bad, repair=repair)
    if not similarities and not scorer:
        raise InputError("nothing says what to score by", remedy="give a --similarity, or a fitted --scorer")
    for name in similarities:
        check_name(name)
    scorers = scorers_of(similarities, scorer, languages, encoder, chinese, seed)
    stream.score_stream(files, scorers, out, append=append, clean=clean or (), settings=settings)
