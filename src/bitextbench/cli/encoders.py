"""Commands of encoders: word vectors, hard negatives, training, encoding; part of `cli`."""

from pathlib import Path
from typing import Any

import click

from bitextbench.base.errors import InputError
from bitextbench.cli import options as opt
from bitextbench.cli.groups import cli, example, step
from bitextbench.cli.options import COUNT, FILE, LANGUAGE, OUT, OUT_OR_DASH, SHARE, Mapping, Names, Output, Spec


@step.command("skip-gram")
@click.argument("tokens", type=FILE, nargs=-1, required=True)
@click.option("--side", type=click.Choice(["src", "tgt"]), required=True, help="The side whose words get vectors.")
@click.option("--bpe", "pieces", type=FILE, help="A BPE model: its pieces get vectors, else words do.")
@opt.lowercase_option
@click.option("--spec", type=Spec("skip_gram"), default="{}", help="dimension, epochs, min_count, subwords.")
@click.option("--checkpoints", type=FILE, help="Folder where a killed run finds its last epoch.")
@click.option("-o", "--out", type=OUT, required=True, help="word2vec's text format.")
def skip_gram(tokens: tuple[Path, ...], side: str, spec: dict[str, int], out: Path, **more: Any) -> None:
    """Learn word vectors from shards of tokenised text by skip-gram, as fastText does, or without `subwords` as word2vec."""
    from bitextbench.encoders import word_mapping

    word_mapping.learn_vectors(tokens, side, out, spec, **more)


@step.command("encode-words")
@click.option(
    "--tokens",
    type=Mapping("SIDE=FILE"),
    multiple=True,
    required=True,
    help="A shard of tokenised text, of src or tgt.",
)
@click.option("--name", required=True, help="A published encoder: muse, e5-small, or its folder.")
@click.option("--dimension", type=COUNT, help="Of the vectors: the main components; without it, all.")
@click.option("--min-count", type=COUNT, default=2, help="Rarer words have no vector.")
@click.option("--bpe", "pieces", type=FILE, help="A BPE model: its pieces get vectors, else words do.")
@opt.lowercase_option
@opt.threads_option
@click.option("-o", "--out", type=OUT, required=True, help="word2vec's text format: <out>.src.vec and <out>.tgt.vec.")
def encode_words(tokens: tuple[tuple[str, Path], ...], name: str, threads: int, out: Path, **more: Any) -> None:
    """Encode the words of a text, each as a sentence, by a published encoder; `train --vectors` takes the vectors."""
    from bitextbench.encoders import word_encoding
    from bitextbench.encoders.plain import sentence_encoder

    shards = opt.by_name(tokens)
    encoder = sentence_encoder(name, threads=threads)
    outs = {side: Path(f"{out}.{side}.vec") for side in shards}
    word_encoding.encode_words(shards, encoder, outs, **more)


@step.command("map-words")
@click.argument("src", type=FILE)
@click.argument("tgt", type=FILE)
@click.option(
    "--spec",
    type=Spec("mapping"),
    default="{}",
    help="start, normalise, refinements, ...: see `encoders.word_mapping.Settings`.",
)
@click.option("--dictionary", type=FILE, multiple=True, help="Seed of `start: dictionary`: tokenised corpus, or text.")
@click.option("--test", type=FILE, multiple=True, help="Entries to find translations of, to measure the mapping.")
@opt.lowercase_option
@opt.seed_option
@opt.threads_option
@click.option("--report", type=OUT, required=True, help="Words, the criterion, P@1 on --test: JSON.")
@click.option(
    "-o",
    "--out",
    type=Output("folder", shared=True),
    required=True,
    help="A folder, for mapped.src.vec and mapped.tgt.vec.",
)
def map_words(src: Path, tgt: Path, spec: dict[str, Any], threads: int, report: Path, out: Path, **more: Any) -> None:
    """Map the word vectors of two languages into one space, with or without a dictionary; `train --vectors` takes them."""
    from bitextbench.base.device import setup
    from bitextbench.encoders import word_mapping

    setup(threads)
    word_mapping.map_files(src, tgt, spec, out, report, **more)


@step.command("hard-negatives")
@click.option(
    "--vectors", type=FILE, multiple=True, required=True, help="Vector shards of the bitext, without .src.npy."
)
@click.option("--ids", type=FILE, multiple=True, required=True, help="Its id shards in the same order, without .src.")
@click.option("--count", type=COUNT, default=5, help="Hard negatives of a sentence.")
@click.option("--share", type=SHARE, default=0.2, help="Share of the pairs that get some, drawn at random.")
@click.option(
    "--similarity",
    type=click.Choice(["dot", "cosine", "random"]),
    default="dot",
    help="Similarity by which a negative is hard; random: none.",
)
@click.option(
    "--directions", type=click.Choice(["both", "forward"]), default="both", help="forward: only sources get negatives."
)
@opt.seed_option
@opt.device_option
@opt.threads_option
@opt.out_option
def hard_negatives(vectors: tuple[Path, ...], ids: tuple[Path, ...], out: Path, **wanted: Any) -> None:
    """Find hard negatives: sentences that an encoder ranks high although they are no translations.

    Writes <out>.src.* and <out>.tgt.*, for `train --corpus hard=...`.
    """
    from bitextbench.encoders.hard_negatives import mine

    mine(vectors, ids, out, **wanted)


@cli.command("encode", epilog=example("encode crawl.de -o crawl.de.npy"))
@click.argument("text", type=FILE)
@opt.encoder_options
@click.option("--language", type=LANGUAGE, help="Code of the text's language; a published encoder needs none.")
@click.option(
    "--side", type=click.Choice(["src", "tgt"]), help="Side of the encoder, if both sides have learned this language."
)
@opt.form_option
@click.option("--columns", type=Names(2), default=(), help=f"Column of {opt.COLUMNS}")
@opt.skip_bad_option
@opt.repair_option
@opt.device_option
@opt.threads_option
@click.option(
    "-o", "--out", type=OUT_OR_DASH, required=True, help="Vectors, .npy [sentences, d]; - is standard output."
)
def encode(
    text: Path,
    encoder: opt.EncoderChoice,
    language: str | None,
    side: str | None,
    form: tuple[str, str],
    columns: tuple[str, ...],
    skip_bad: bool,
    repair: bool,
    out: Path,
    **_: Any,  # of the encoder, which has them
) -> None:
    """Encode sentences of your own.

    The text is a sentence a line, id<TAB>sentence, JSON lines or TMX (each plain or packed), Parquet, or a Moses zip. -
    is standard input.
    """
    from bitextbench.base.pipes import is_dash
    from bitextbench.encoders.plain import encode_text
    from bitextbench.formats.inputs import Reading, check_filled

    check_filled(text)
    if not is_dash(out) and out.suffix != ".npy":
        raise InputError("is not a name of vectors", out, remedy=f"end it in .npy: {out}.npy")
    loaded, reading = encoder.load(), Reading(skip_bad, repair)
    encode_text(text, loaded, out, language=language, side=side, form=form[0], columns=columns, reading=reading)


@cli.command(
    epilog=example(
        "train --spec @encoder.yaml --bpe joint.model --src de --tgt en --corpus bitext=ids/00000 --corpus valid=ids/valid"
        " --checkpoints checkpoints -o own/model.pt"
    )
)
@opt.spec_option
@click.option("--bpe", type=FILE, required=True, help="The BPE model, or the features (.json), of the ids.")
@opt.lowercase_option
@opt.chinese_option
@opt.languages_option
@click.option(
    "--corpus",
    "corpora",
    type=Mapping("ROLE=STEM"),
    multiple=True,
    required=True,
    help="An id shard, without .src and .tgt, of: bitext, mono, valid (held-out pairs), hard (negatives), pivot_src...",
)
@click.option(
    "--vectors",
    type=Mapping("SIDE=FILE"),
    multiple=True,
    help="Word vectors to start from, of src and tgt (.vec); for a cross_encoder model=FILE: the one to fine-tune.",
)
@opt.device_option
@opt.threads_option
@opt.seed_option
@opt.checkpoints_option
@opt.out_option
def train(
    spec: dict[str, Any],
    bpe: Path,
    lowercase: bool,
    chinese: str,
    languages: tuple[str, str],
    corpora: tuple[tuple[str, Path], ...],
    vectors: tuple[tuple[str, Path], ...],
    checkpoints: Path,
    out: Path,
    **more: Any,
) -> None:
    """Train a sentence encoder; resumes from its last checkpoint.

    The folder of the output is then a model that works by itself: `encode --encoder FOLDER`.
    """
    from bitextbench.config.encoders import check_roles
    from bitextbench.config.schema import check_encoder
    from bitextbench.encoders.folder import MODEL, TextSide
    from bitextbench.encoders.trainer import train as run
    from bitextbench.formats.bitext import SIDES
    from bitextbench.text.features import text_model

    if out.name != MODEL:
        raise InputError("is not the name of a model", out, remedy=f"call it {MODEL}, in a folder of its own")
    check_encoder(spec, "--spec")
    spec, vocab_size, row_of = text_model(bpe, spec)
    data = opt.by_name(corpora)
    check_roles(spec, data, "--corpus")
    run(
        spec,
        vocab_size,
        data,
        out,
        checkpoints,
        vectors=dict(vectors),
        row_of=row_of,
        text=TextSide(bpe, lowercase, chinese, dict(zip(SIDES, languages, strict=True))),
        **more,
    )


@cli.command(epilog=example("export e5-small -o e5-small"))
@click.argument("encoder", type=click.Choice(["e5-small"]))
@click.option("-o", "--out", type=Output("folder", mark="modules.json"), required=True, help="A folder.")
def export(encoder: str, out: Path) -> None:
    """Write the encoder of a package as a folder of sentence-transformers, in float32, which other programs read, too."""
    from bitextbench.base.progress import log
    from bitextbench.encoders import e5

    e5.export(out)
    log(f"{out}: {e5.ABOUT}; both texts are read after the prompt {e5.PROMPT!r}")


@step.command("encode")
@click.argument("ids", type=FILE)
@click.option("--model", type=FILE, required=True, help="A trained encoder.")
@click.option("--batch-tokens", type=COUNT, help="Tokens of a batch: 8,192, on a GPU 65,536 without it.")
@click.option(
    "--precision",
    type=click.Choice(["auto", "fp32", "bf16"]),
    default="fp32",
    help="Number format of matrix products; auto: the fastest.",
)
@opt.device_option
@opt.threads_option
@opt.out_option
def encode_ids(ids: Path, model: Path, batch_tokens: int | None, out: Path, **more: Any) -> None:
    """Encode an id shard (named without .src and .tgt); writes <out>.src.npy and <out>.tgt.npy."""
    from bitextbench.encoders.encode import encode as run
    from bitextbench.encoders.encode import loaded

    encoder = loaded(model, **more)
    for side in ("src", "tgt"):
        run(encoder, Path(f"{ids}.{side}"), side, Path(f"{out}.{side}.npy"), batch_tokens=batch_tokens)


@step.command("pretrained")
@click.argument("encoder")
@click.option("--file", "files", type=FILE, multiple=True, help="A file of the encoder's folder.")
@opt.out_option
def pretrained(encoder: str, files: tuple[Path, ...], out: Path) -> None:
    """Write the name or folder of a published encoder and the hashes of its files as JSON.

    The encoder is loaded once, so that an incomplete one fails here.
    """
    from bitextbench.encoders import plain

    plain.sentence_encoder(encoder)
    plain.describe(encoder, files, out)


@step.command("encode-pretrained")
@click.argument("shard", type=FILE)
@click.option("--about", type=FILE, required=True, help="What `step pretrained` wrote.")
@opt.prefix_option
@opt.languages_option
@click.option("--precision", type=click.Choice(["fp32", "bf16", "auto"]), default="fp32", help="Number format.")
@opt.device_option
@opt.threads_option
@opt.out_option
def encode_pretrained(shard: Path, about: Path, languages: tuple[str, str], out: Path, **more: Any) -> None:
    """Encode a shard of a corpus by a published encoder; writes <out>.src.npy and <out>.tgt.npy."""
    from bitextbench.encoders.plain import encode_shard

    encode_shard(shard, about, languages, out, **more)


@step.command("encoder-cost")
@click.argument("encoder")
@click.argument("corpus", type=FILE)
@opt.languages_option
@opt.prefix_option
@opt.out_option
def encoder_cost(encoder: str, corpus: Path, languages: tuple[str, str], prefix: str | None, out: Path) -> None:
    """Measure the speed of an encoder (a name, or its folder) on the first sentences of a corpus, and the size of its files."""
    from bitextbench.base.json_yaml import write_json
    from bitextbench.encoders import plain
    from bitextbench.evaluation import cost

    made = plain.sentence_encoder(encoder, prefix=prefix, threads=1)
    write_json(out, cost.measure(made, corpus, languages, plain.files_of(encoder)))
