"""Commands that mine pairs: `mine`, and the steps that mine training text; part of `cli`."""

from pathlib import Path
from typing import Any

import click

from bitextbench.base.errors import InputError
from bitextbench.base.files import cache_folder
from bitextbench.cli import options as opt
from bitextbench.cli.groups import cli, example, step
from bitextbench.cli.options import (
    COUNT,
    FILE,
    INPUT,
    LANGUAGE,
    LIMIT,
    NATURAL,
    OUT,
    OUT_OR_DASH,
    SHARE,
    Names,
    OneOf,
    Spec,
)

rows_option = click.option("--rows", type=FILE, required=True, help="The rows to search: what `step searched` wrote.")


@step.command("mine-corpus")
@click.argument("corpus", type=FILE)
@opt.tokens_option
@click.option("--spec", type=Spec(), required=True, help="similarity, retrieval, threshold, documents, filter.")
@opt.shards_option
@click.option(
    "--model", type=FILE, help="An encoder with a calibrated confidence: the threshold is then one of confidence."
)
@opt.languages_option
@opt.device_option
@opt.threads_option
@opt.bootstrap_option
@opt.out_option
def mine_corpus(shards: opt.Shards, **given: Any) -> None:
    """Mine pairs from the two sides of a corpus without using its alignment.

    Writes <out>/train.<language> and, by the alignment, how many pairs are right.
    """
    from bitextbench.formats.vectors import read_both
    from bitextbench.mining.corpora import mine

    mine(vectors=read_both(*shards), **given)


@step.command("searched")
@click.argument("corpus", type=FILE)
@opt.shards_option
@opt.folder_option
def searched(corpus: Path, shards: opt.Shards, out: Path) -> None:
    """Write the rows of both sides of a corpus that are searched: not empty, no later copies, each vector once."""
    from bitextbench.formats.vectors import read_both
    from bitextbench.mining.blocks import write_searched

    write_searched(corpus, read_both(*shards), out)


@step.command("search-block")
@rows_option
@opt.shards_option
@click.option(
    "--src-block", type=(NATURAL, COUNT), required=True, help="Number of the block, from 0, and number of blocks."
)
@click.option("--tgt-block", type=(NATURAL, COUNT), required=True, help="The same of the targets.")
@click.option("--spec", type=Spec(), required=True, help="margin, k, index.")
@opt.device_option
@opt.threads_option
@opt.folder_option
def search_block(
    rows: Path,
    shards: opt.Shards,
    src_block: tuple[int, int],
    tgt_block: tuple[int, int],
    spec: dict[str, Any],
    out: Path,
    **more: Any,
) -> None:
    """Find the neighbours in a block of sources and a block of targets."""
    from bitextbench.formats.vectors import read_both
    from bitextbench.mining import blocks

    vectors = read_both(*shards)
    block = blocks.Block(*src_block), blocks.Block(*tgt_block)
    blocks.search(vectors, blocks.searched(rows), block, out, **spec, **more)


@step.command("mine-blocks")
@click.argument("corpus", type=FILE)
@rows_option
@click.option("--neighbours", type=FILE, required=True, help="The neighbours that `merge-neighbours` joined.")
@click.option("--spec", type=Spec(), required=True, help="margin, retrieval, threshold.")
@opt.languages_option
@opt.out_option
def mine_blocks(
    corpus: Path, rows: Path, neighbours: Path, spec: dict[str, Any], languages: tuple[str, str], out: Path
) -> None:
    """Write the pairs out of joined neighbours: score, ids, sentences."""
    from bitextbench.mining import blocks

    blocks.mine(corpus, blocks.searched(rows), neighbours, spec, languages, out)


@step.command("rescoring-pairs")
@click.argument("corpus", type=FILE)
@opt.languages_option
@opt.shards_option
@click.option("--ids", type=FILE, multiple=True, required=True, help="Id shards of the corpus, without .src and .tgt.")
@click.option("--negatives", type=COUNT, default=10, help="Negatives for each positive.")
@click.option("--train", type=SHARE, default=0.8, help="The part that is trained on; the rest is for development.")
@opt.seed_option
@opt.device_option
@opt.threads_option
@opt.folder_option
def rescoring_pairs(
    corpus: Path, languages: tuple[str, str], shards: opt.Shards, ids: tuple[Path, ...], out: Path, **more: Any
) -> None:
    """Mine the pairs that cross-encoders learn from and rescore, one for each half of a comparable corpus (Yang et al. 2019)."""
    from bitextbench.evaluation import rescoring
    from bitextbench.formats.vectors import read_both
    from bitextbench.mining import comparable

    vectors = read_both(*shards)
    rescoring.prepare(comparable.read(corpus, languages), *vectors, ids, out, **more)


def _vectors(
    encoder: opt.EncoderChoice,
    src_emb: Path | None,
    tgt_emb: Path | None,
    languages: tuple[str | None, str | None],
    cache: Path | None,
    margin: str | None,
) -> Any:
    """The vectors of both texts, from two files or by an encoder, and the encoder's calibration.

    Raises InputError where both are given.
    """
    from bitextbench.mining import vectors

    if encoder.named and (src_emb or tgt_emb):
        raise InputError(
            "both --encoder and files of vectors are given", remedy="give --encoder, or both --src-emb and --tgt-emb"
        )
    if src_emb and tgt_emb:
        vectors.unknown_encoder(margin)
        return vectors.from_files(src_emb, tgt_emb), None
    if src_emb or tgt_emb:
        raise InputError("only one text has vectors", remedy="give both --src-emb and --tgt-emb")
    loaded = encoder.load()
    return vectors.from_encoder(loaded, languages, cache or cache_folder()), loaded.calibration


@cli.command(epilog=example("mine crawl.de crawl.en -o pairs.tsv"))
@click.argument("src_text", type=INPUT, metavar="A")
@click.argument("tgt_text", type=INPUT, metavar="B")
@opt.encoder_options
@click.option(
    "--src-language",
    type=LANGUAGE,
    help="Language code of A. A published encoder needs none, and warns of a text in a language that it does not know.",
)
@click.option("--tgt-language", type=LANGUAGE, help="Language code of B.")
@opt.cache_option
@click.option(
    "--src-emb",
    type=INPUT,
    help="Vectors of A instead of an encoder, such as those of your own: .npy [n, d], a row for each line, empty and repeated ones, too.",
)
@click.option("--tgt-emb", type=INPUT, help="Vectors of B.")
@opt.form_option
@click.option("--src-columns", type=Names(2), default=(), help=f"Column of A with {opt.COLUMNS}")
@click.option("--tgt-columns", type=Names(2), default=(), help="The same of B.")
@opt.skip_bad_option
@opt.repair_option
@click.option(
    "--margin",
    type=OneOf(opt.SIMILARITIES),
    help="Score of a pair; `list margins` has formulas. The default is distance with muse, and ratio with other encoders.",
)
@click.option(
    "--retrieval",
    type=OneOf(opt.STRATEGIES),
    default="max",
    help="Which candidates become pairs. max searches both directions and uses each sentence once.",
)
@click.option(
    "--threshold",
    type=LIMIT,
    help="The least score of a pair. With -k 4, muse has a default for distance and e5-small for ratio; otherwise there is none, and every retrieved pair is kept. -inf keeps all.",
)
@click.option(
    "--precision-target", type=SHARE, help="Choose the threshold that reaches this precision on --gold, 0 to 1."
)
@click.option("--gold", type=INPUT, help="All pairs that are right: source id<TAB>target id.")
@click.option(
    "--index", help="Approximate search, by an index of faiss: IVF4096,Flat:nprobe=32, HNSW32, ... Exact without it."
)
@click.option("--keep-duplicates", is_flag=True, help="Search every copy of equal sentences.")
@opt.search_options(k=opt.K)
@click.option(
    "-o",
    "--out",
    type=OUT_OR_DASH,
    required=True,
    help="Score, ids, sentences: .tsv, .tsv.gz, .parquet, .tmx; - is TSV.",
)
def mine(
    src_text: Path,
    tgt_text: Path,
    encoder: opt.EncoderChoice,
    src_language: str | None,
    tgt_language: str | None,
    cache: Path | None,
    src_emb: Path | None,
    tgt_emb: Path | None,
    form: tuple[str, str],
    src_columns: tuple[str, ...],
    tgt_columns: tuple[str, ...],
    skip_bad: bool,
    repair: bool,
    threshold: float | None,
    precision_target: float | None,
    gold: Path | None,
    out: Path,
    **search: Any,
) -> None:
    """Mine parallel pairs out of two texts (Artetxe and Schwenk 2019).

    A text is a sentence a line, id<TAB>sentence, JSON lines or TMX (each plain, .gz, .bz2, .xz or .zst), Parquet, or a
    Moses zip. - is standard input.
    """
    from bitextbench.formats import mined_pairs
    from bitextbench.formats.inputs import Reading, check_filled
    from bitextbench.mining import texts

    if (precision_target is None) != (gold is None):
        raise InputError("only one of --gold and --precision-target is given", remedy="give both or neither")
    if gold and threshold is not None:
        raise InputError("--threshold and --precision-target both set the threshold", remedy="leave out one of them")
    languages = src_language, tgt_language
    mined_pairs.check_output(out, languages)  # before an encoder is loaded
    for text in (src_text, tgt_text):
        check_filled(text)
    vectors, calibration = _vectors(encoder, src_emb, tgt_emb, languages, cache, search["margin"])
    texts.mine(
        src_text,
        tgt_text,
        out,
        vectors,
        calibration=calibration,
        threshold=threshold,
        gold=gold,
        target=precision_target,
        languages=languages,
        forms=form,
        columns=(src_columns, tgt_columns),
        reading=Reading(skip_bad, repair),
        **search,
    )


@step.command("bucc-set")
@click.argument("corpus", type=FILE)
@opt.languages_option
@click.option("-o", "--out", type=OUT, required=True, help="Writes <out>.src, <out>.tgt and <out>.gold.")
def bucc_set(corpus: Path, languages: tuple[str, str], out: Path) -> None:
    """Write a comparable corpus in BUCC's format: shuffled texts, and the ids of the pairs that are hidden in them."""
    from bitextbench.mining import comparable

    comparable.write(comparable.read(corpus, languages), out)
