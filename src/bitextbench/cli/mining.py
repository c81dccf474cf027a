"""Commands on mined and selected pairs as training data of a translation model; part of `cli`."""

from pathlib import Path
from typing import Any

import click

from bitextbench.cli.groups import cli, example, step
from bitextbench.cli.options import (
    FILE,
    SIMILARITY,
    Spec,
    bootstrap_option,
    folder_option,
    form_option,
    gpus_option,
    out_option,
    search_options,
    search_settings,
    seed_option,
    src_emb_option,
    src_option,
    src_shards_option,
    src_text_option,
    tgt_emb_option,
    tgt_option,
    tgt_shards_option,
    tgt_text_option,
    threads_option,
)


@step.command("mine-corpus")
@click.argument("corpus", type=FILE)
@click.option("--tokens", type=FILE, required=True, help="The same corpus tokenised.")
@click.option("--spec", type=Spec(), required=True, help="similarity, retrieval, threshold, documents, filter.")
@src_shards_option
@tgt_shards_option
@click.option("--model", type=FILE, help="An encoder with a calibrated confidence, which the threshold is then of.")
@src_option
@tgt_option
@gpus_option
@threads_option
@bootstrap_option
@out_option
def mine_corpus(
    corpus: Path, tokens: Path, spec: dict[str, Any], src_emb: tuple[Path, ...], tgt_emb: tuple[Path, ...], model: Path | None,
    src: str, tgt: str, gpus: int, threads: int, seed: int, out: Path,
) -> None:  # fmt: skip
    """Mine the pairs of a corpus as if its sides were strangers; writes <out>/train.<language> and how many are right."""
    from bitextbench.formats.vectors import read_shards
    from bitextbench.mining.corpora import mine

    vectors = read_shards(src_emb), read_shards(tgt_emb)
    settings = search_settings("torch", gpus, "auto", 1.0, threads)
    mine(corpus, tokens, vectors, (src, tgt), spec, out, model=model, seed=seed, **settings)


@step.command("rescoring-pairs")
@click.argument("corpus", type=FILE)
@src_option
@tgt_option
@src_shards_option
@tgt_shards_option
@click.option("--ids", type=FILE, multiple=True, required=True, help="Id shards of the corpus, without .src and .tgt.")
@click.option("--negatives", type=int, default=10, help="For a positive.")
@click.option("--train", type=float, default=0.8, help="The part that is trained on; the rest is for development.")
@seed_option
@gpus_option
@threads_option
@folder_option
def rescoring_pairs(
    corpus: Path, src: str, tgt: str, src_emb: tuple[Path, ...], tgt_emb: tuple[Path, ...], ids: tuple[Path, ...], negatives: int,
    train: float, seed: int, gpus: int, threads: int, out: Path,
) -> None:  # fmt: skip
    """Mine the pairs that a cross-encoder of each half of a comparable corpus learns from, and rescores (Yang et al. 2019)."""
    from bitextbench.evaluation import rescoring
    from bitextbench.formats.vectors import read_shards
    from bitextbench.mining import comparable

    vectors = read_shards(src_emb), read_shards(tgt_emb)
    rescoring.prepare(
        comparable.read(corpus, (src, tgt)), *vectors, ids, out, negatives=negatives, train=train, seed=seed, threads=threads,
        device="cuda" if gpus else "cpu",
    )  # fmt: skip


@cli.command(
    epilog=example(
        "mine --src-text a.de --tgt-text a.en --src-emb a.de.npy --tgt-emb a.en.npy --threshold 1.06 -o pairs.tsv"
    )
)
@src_text_option
@tgt_text_option
@src_emb_option
@tgt_emb_option
@form_option
@click.option("--margin", default="ratio", help=f"Score of a pair: {SIMILARITY}")
@click.option("--retrieval", default="max", help="forward, backward, intersection or max.")
@click.option("--threshold", type=float, help="The least score of a pair; none keeps all.")
@click.option("--keep-duplicates", is_flag=True, help="Search every copy of equal sentences.")
@search_options(k=4)
@click.option("-o", "--out", type=FILE, required=True, help="Score, ids and sentences: TSV, or Parquet by its name.")
def mine(
    src_text: Path, tgt_text: Path, src_emb: Path, tgt_emb: Path, form: str, margin: str, retrieval: str,
    threshold: float | None, keep_duplicates: bool, k: int, out: Path, **settings: Any,
) -> None:  # fmt: skip
    """Mine parallel pairs out of two texts and their vectors (Artetxe and Schwenk 2019)."""
    from bitextbench.mining.texts import mine as run

    run(
        src_text, tgt_text, src_emb, tgt_emb, out, margin=margin, retrieval=retrieval, k=k, threshold=threshold, form=form,
        keep_duplicates=keep_duplicates, **search_settings(**settings),
    )  # fmt: skip


@step.command("bucc-set")
@click.argument("corpus", type=FILE)
@src_option
@tgt_option
@click.option("-o", "--out", type=FILE, required=True, help="Writes <out>.src, <out>.tgt and <out>.gold.")
def bucc_set(corpus: Path, src: str, tgt: str, out: Path) -> None:
    """Write a comparable corpus in BUCC's format: shuffled texts, and the ids of the pairs that are hidden in them."""
    from bitextbench.mining import comparable

    comparable.write(comparable.read(corpus, (src, tgt)), out)
