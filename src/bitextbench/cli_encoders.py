"""Commands on what encoders read and learn from: `features` and `hard-negatives`; part of `cli`."""

from pathlib import Path
from typing import Any

import click
import yaml

FILE = click.Path(path_type=Path)


def text_model(path: Path, spec: dict[str, Any]) -> tuple[dict[str, Any], int, list[str]]:
    """What a BPE model or a file of features says to an encoder: its spec with what that adds, ids, BPE pieces by id."""
    if path.suffix == ".json":
        from bitextbench import ngrams

        features = ngrams.load(path)
        return spec | {"model": {**(spec.get("model") or {}), "words": features.words}}, features.size, []
    import sentencepiece

    from bitextbench.files import existing

    processor = sentencepiece.SentencePieceProcessor(model_file=str(existing(path)))
    pieces = [processor.id_to_piece(index) for index in range(processor.get_piece_size())]
    return spec, len(pieces), pieces


@click.command()
@click.argument("kind")
@click.argument("corpora", type=FILE, nargs=-1)
@click.option(
    "--spec", type=yaml.safe_load, required=True, help="Sizes, as `text.features` of the configuration has them: JSON."
)
@click.option("--lowercase/--cased", default=True)
@click.option("-o", "--out", type=FILE, required=True)
def features(kind: str, corpora: tuple[Path, ...], spec: dict[str, Any], lowercase: bool, out: Path) -> None:
    """Write the features `words` or `ngrams` (its vocabulary from tokenised corpora) as JSON; `ids --model` takes it."""
    from bitextbench.ngrams import learn

    learn(kind, corpora, spec, out, lowercase=lowercase)


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
    from bitextbench.hard_negatives import mine

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
    from bitextbench.encode import encode_text as run

    device = "cuda" if gpus else "cpu"
    run(text, side, language, model, bpe, out, lowercase=lowercase, form=form, threads=threads, device=device)
