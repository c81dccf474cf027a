"""Commands on encoders: what they read and learn from, their vectors, and how they compare; part of `cli`."""

from pathlib import Path
from typing import Any

import click

from bitextbench.cli.evaluation import src_shards_option, tgt_shards_option
from bitextbench.cli.options import FILE, Spec


def text_model(path: Path, spec: dict[str, Any]) -> tuple[dict[str, Any], int, list[str]]:
    """What a BPE model, a BERT's vocabulary (.txt) or features (.json) say to an encoder: its spec with what that adds, ids, pieces
    by id.
    """
    if path.suffix == ".txt":
        from bitextbench.text import wordpieces

        pieces = wordpieces.load(path)
        marks = {"cls": pieces.index("[CLS]"), "sep": pieces.index("[SEP]")}
        return spec | {"model": {**(spec.get("model") or {}), **marks}}, len(pieces), pieces
    if path.suffix == ".json":
        from bitextbench.text import ngrams

        features = ngrams.load(path)
        return spec | {"model": {**(spec.get("model") or {}), "words": features.words}}, features.size, []
    from bitextbench.text.bpe import load_bpe

    processor = load_bpe(path)
    pieces = [processor.id_to_piece(index) for index in range(processor.get_piece_size())]
    return spec, len(pieces), pieces


@click.command()
@click.argument("kind")
@click.argument("corpora", type=FILE, nargs=-1)
@click.option(
    "--spec", type=Spec(), required=True, help="Sizes, as `text.features` of the configuration has them: JSON."
)
@click.option("--lowercase/--cased", default=True)
@click.option("-o", "--out", type=FILE, required=True)
def features(kind: str, corpora: tuple[Path, ...], spec: dict[str, Any], lowercase: bool, out: Path) -> None:
    """Write the features `words` or `ngrams` (its vocabulary from tokenised corpora) as JSON; `ids --model` takes it."""
    from bitextbench.text.ngrams import learn

    learn(kind, corpora, spec, out, lowercase=lowercase)


@click.command("skip-gram")
@click.argument("tokens", type=FILE, nargs=-1, required=True)
@click.option("--side", type=click.Choice(["src", "tgt"]), required=True)
@click.option("--bpe", type=FILE, help="A BPE model: its pieces get vectors, else words do.")
@click.option("--lowercase/--cased", default=True)
@click.option("--spec", type=Spec(), default="{}", help="dimension, epochs, min_count.")
@click.option("-o", "--out", type=FILE, required=True, help="word2vec's text format.")
def skip_gram(
    tokens: tuple[Path, ...], side: str, bpe: Path | None, lowercase: bool, spec: dict[str, int], out: Path
) -> None:
    """Learn word vectors from shards of tokenised text by fastText's skip-gram."""
    from bitextbench.encoders import word_mapping

    word_mapping.learn_vectors(tokens, side, out, spec, pieces=bpe, lowercase=lowercase)


@click.command("map-words")
@click.argument("src", type=FILE)
@click.argument("tgt", type=FILE)
@click.option("--spec", type=Spec(), default="{}", help="As word_mapping.Spec.")
@click.option("--dictionary", type=FILE, multiple=True, help="Seed of `start: dictionary`: tokenised corpus, or text.")
@click.option("--test", type=FILE, multiple=True, help="Entries to find translations of, to measure the mapping.")
@click.option("--lowercase/--cased", default=True)
@click.option("--seed", type=int, default=1)
@click.option("--threads", type=int, default=1, help="CPU threads.")
@click.option("--report", type=FILE, required=True, help="Words, the criterion, P@1 on --test: JSON.")
@click.option("-o", "--out", type=FILE, required=True, help="A folder, for mapped.src.vec and mapped.tgt.vec.")
def map_words(
    src: Path, tgt: Path, spec: dict[str, Any], dictionary: tuple[Path, ...], test: tuple[Path, ...], lowercase: bool, seed: int, threads: int, report: Path, out: Path
) -> None:  # fmt: skip
    """Bring the word vectors of two languages into one space, without a dictionary or with one; `train --vectors` takes them."""
    from bitextbench.base.device import setup
    from bitextbench.encoders import word_mapping

    setup(threads)
    word_mapping.map_files(
        src, tgt, spec, out, report, seed=seed, dictionary=dictionary, test=test, lowercase=lowercase
    )


@click.command("hard-negatives")
@click.option(
    "--vectors", type=FILE, multiple=True, required=True, help="Vector shards of the bitext, without .src.npy."
)
@click.option("--ids", type=FILE, multiple=True, required=True, help="Its id shards in the same order, without .src.")
@click.option("--count", type=int, default=5, help="Hard negatives of a sentence.")
@click.option("--share", type=float, default=0.2, help="Of the pairs, drawn at random.")
@click.option("--similarity", type=click.Choice(["dot", "cosine"]), default="dot")
@click.option("--seed", type=int, default=1)
@click.option("--gpus", type=int, default=0, help="0 computes on the CPU.")
@click.option("--threads", type=int, default=1, help="CPU threads.")
@click.option("-o", "--out", type=FILE, required=True)
def hard_negatives(
    vectors: tuple[Path, ...], ids: tuple[Path, ...], count: int, share: float, similarity: str, seed: int, gpus: int, threads: int, out: Path
) -> None:  # fmt: skip
    """Find what an encoder takes for translations and is none; writes <out>.src.* and <out>.tgt.*, for `train --hard`."""
    from bitextbench.encoders.hard_negatives import mine

    device = "cuda" if gpus else "cpu"
    mine(vectors, ids, out, count=count, share=share, similarity=similarity, seed=seed, threads=threads, device=device)


@click.command("encode-text")
@click.argument("text", type=FILE)
@click.option(
    "--side", type=click.Choice(["src", "tgt"]), required=True, help="Of the model, whose sides are languages."
)
@click.option("--language", required=True, help="Language code, for the tokeniser.")
@click.option("--model", type=FILE, required=True, help="A trained encoder.")
@click.option(
    "--bpe", type=FILE, required=True, help="The BPE model, or the features (.json), that it was trained with."
)
@click.option("--text-format", "form", type=click.Choice(["auto", "lines", "bucc"]), default="auto")
@click.option("--lowercase/--cased", default=True)
@click.option("--gpus", type=int, default=0, help="0 computes on the CPU.")
@click.option("--threads", type=int, default=1, help="CPU threads.")
@click.option("-o", "--out", type=FILE, required=True, help="Vectors, .npy [sentences, d].")
def encode_text(
    text: Path, side: str, language: str, model: Path, bpe: Path, form: str, lowercase: bool, gpus: int, threads: int, out: Path
) -> None:  # fmt: skip
    """Encode sentences of your own, for `mine`: plain, .gz, .xz or .zst lines, id<TAB>sentence, or Parquet."""
    from bitextbench.encoders.encode import encode_text as run

    device = "cuda" if gpus else "cpu"
    run(text, side, language, model, bpe, out, lowercase=lowercase, form=form, threads=threads, device=device)


@click.command("wordpiece-ids")
@click.argument("shard", type=FILE)
@click.option("--vocab", type=FILE, required=True, help="vocab.txt of a BERT.")
@click.option("-o", "--out", type=FILE, required=True, help="A folder.")
def wordpiece_ids(shard: Path, vocab: Path, out: Path) -> None:
    """Encode a shard of a corpus as the pieces of a published BERT."""
    from bitextbench.text.wordpieces import encode_shard

    encode_shard(shard, vocab, out)


@click.command("rescoring-pairs")
@click.argument("corpus", type=FILE)
@click.option("--src", "src", required=True, help="Source language code.")
@click.option("--tgt", "tgt", required=True, help="Target language code.")
@src_shards_option
@tgt_shards_option
@click.option("--ids", type=FILE, multiple=True, required=True, help="Id shards of the corpus, without .src and .tgt.")
@click.option("--negatives", type=int, default=10, help="For a positive.")
@click.option("--train", type=float, default=0.8, help="The part that is trained on; the rest is for development.")
@click.option("--seed", type=int, default=1)
@click.option("--gpus", type=int, default=0, help="0 computes on the CPU.")
@click.option("--threads", type=int, default=1, help="CPU threads.")
@click.option("-o", "--out", type=FILE, required=True, help="A folder.")
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


@click.command("measure-encoder")
@click.argument("name")
@click.option("--test", required=True, help="The test's name.")
@click.option("--training", type=FILE, required=True, help="training.json, which `train` wrote beside the model.")
@click.option("--src-emb", type=FILE, multiple=True, required=True, help="Vectors of the test's sources, each shard.")
@click.option("--tgt-emb", type=FILE, multiple=True, required=True, help="Vectors of its targets.")
@click.option("--corpus", type=FILE, required=True, help="The test, as text.")
@click.option("--threads", type=int, default=1, help="CPU threads.")
@click.option("-o", "--out", type=FILE, required=True)
def measure_encoder(
    name: str, test: str, training: Path, src_emb: tuple[Path, ...], tgt_emb: tuple[Path, ...], corpus: Path, threads: int, out: Path
) -> None:  # fmt: skip
    """Measure an encoder on an aligned test set: error rate and P@1 in both directions, with what its training cost."""
    from bitextbench.base.files import write_json
    from bitextbench.report.encoders import measure

    write_json(out, measure(name, test, training, src_emb, tgt_emb, corpus, threads=threads))


@click.command("compare-encoders")
@click.argument("measured", type=FILE, nargs=-1, required=True)
@click.option("--config", type=Spec(), required=True, help="The whole configuration.")
@click.option("--benchmarks", type=FILE, required=True)
@click.option("--provenance", type=FILE, required=True)
@click.option("--html", type=FILE, required=True)
@click.option("-o", "--out", type=FILE, required=True, help="CSV.")
def compare_encoders(
    measured: tuple[Path, ...], config: dict[str, Any], benchmarks: Path, provenance: Path, html: Path, out: Path
) -> None:
    """Set what `measure-encoder` wrote side by side, a line an encoder and test; prints it."""
    from bitextbench.report import encoders
    from bitextbench.report.provenance import collect

    collect(config, measured, benchmarks, provenance)
    encoders.build(measured, out, html)
    click.echo(encoders.render(encoders.read_csv(out)), nl=False)
