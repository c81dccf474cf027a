"""Options and arguments that several commands share."""

import functools
import json
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from bitextbench.base import members
from bitextbench.base.errors import InputError, near
from bitextbench.base.parallel import cores

if TYPE_CHECKING:
    from bitextbench.encoders.interface import SentenceEncoder  # it imports torch

FILE = click.Path(path_type=Path)


class InputPath(click.Path):
    """An input path that has to be there before the work begins; "-" is standard input. In `remedy`, {} is its option."""

    def __init__(self, remedy: str) -> None:
        super().__init__(path_type=Path)
        self.remedy = remedy

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(super().convert(value, param, ctx)))
        if str(path) != "-" and not path.exists():
            raise InputError("no such file", path, remedy=self.remedy.format(param.opts[0] if param else "its option"))
        return path


INPUT = InputPath("check the path")
IN_REPOSITORY = InputPath("call this in the repository, or name it by {}")


class OneOf(click.Choice[str]):
    """One of some names. Raises InputError for any other, with the nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            where = param.opts[0] if param else None
            raise InputError(f"unknown name {str(value)[:40]!r}", where, remedy=near(str(value), self.choices))
        return str(value)


class Numeric(click.ParamType):
    """A number of a kind, int or float, from `least` to `most`, or with `above` above `least`; never nan."""

    def __init__(self, kind: type[int] | type[float], least: float, most: float, *, above: bool = False) -> None:
        self.kind, self.least, self.most, self.above = kind, least, most, above
        self.name = "integer" if kind is int else "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if self.most == LARGEST:
            remedy = f"give {self.least:,} or more"
        elif math.isinf(self.most):
            remedy = "give a number"
        else:
            remedy = (
                f"give {f'more than {self.least:,} and at most' if self.above else f'{self.least:,} to'} {self.most:,}"
            )
        where = param.opts[0] if param else self.name
        try:
            number = self.kind(value)
        except (ValueError, OverflowError):
            raise InputError(f"{str(value)[:40]!r} is not a valid {self.name}", where, remedy=remedy) from None
        if not self.least <= number <= self.most or (self.above and number == self.least):
            raise InputError(f"{str(value)[:40]} is out of range", where, remedy=remedy)
        return number


LARGEST = 2**63 - 1
COUNT, NATURAL = Numeric(int, 1, LARGEST), Numeric(int, 0, LARGEST)
THREADS = Numeric(int, 1, 1024)
SEED = Numeric(int, 0, 2**32 - 1)  # what NumPy, torch and scikit-learn all take
NEIGHBOURS = Numeric(int, 1, 1 << 14)
SHARE = Numeric(float, 0, 1, above=True)
LIMIT = Numeric(float, -math.inf, math.inf)  # of a score: -inf keeps all


class Spec(click.ParamType):
    """A mapping as JSON or YAML on the command line, or `@` and the name of such a file.

    `kind` is one of the schema's $defs; without it the value is not looked at.
    """

    name = "JSON|@FILE"

    def __init__(self, kind: str = "") -> None:
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        from bitextbench.base.json_yaml import parse, read_yaml

        where = param.opts[0] if param else "--spec"
        mapping = read_yaml(value[1:]) if value.startswith("@") else parse(value, where)
        if not isinstance(mapping, dict):
            raise InputError(f"{str(mapping)[:60]!r} is not a mapping", where, remedy='write {"key": value}')
        if self.kind:
            from bitextbench.config.schema import check_part

            check_part(self.kind, mapping, where)
        return mapping


class LanguageCode(click.ParamType):
    """A language code in its standard form (`base.languages`). Raises InputError for what is no code, with the nearest."""

    name = "CODE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from bitextbench.base.languages import check_language

        return check_language(value, param.opts[0] if param else "--language")


LANGUAGE = LanguageCode()


class Forms(click.ParamType):
    """The forms of two texts: one for both, or one for each between commas."""

    name = "FORM[,FORM]"
    known = ("auto", "lines", "bucc")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        forms = value.split(",")
        if len(forms) > 2 or not set(forms) <= {*self.known}:
            self.fail(f"{value!r} is not one of {', '.join(self.known)}, or two of them, as bucc,lines", param, ctx)
        return forms[0], forms[-1]


class Names(click.ParamType):
    """Names between commas, at most `most`."""

    name = "NAME[,NAME]"

    def __init__(self, most: int) -> None:
        self.most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        names = tuple(value.split(","))
        if not all(names) or len(names) > self.most:
            self.fail(f"{value!r} is not 1 to {self.most} names between commas", param, ctx)
        return names


class Mapping(click.ParamType):
    """NAME=PATH: a dict from names to paths."""

    def __init__(self, name: str = "NAME=PATH") -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        name, sep, path = value.partition("=")
        if not sep:
            self.fail(f"{value!r} is not {self.name}", param, ctx)
        return name, Path(path)


class Rows(click.ParamType):
    """START:END, rows counted from 0, END not included; either may be left out."""

    name = "START:END"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, slice):
            return value
        start, colon, end = value.partition(":")
        if not colon or not all(part.isdigit() or not part for part in (start, end)):
            self.fail(f"{value!r} is not START:END", param, ctx)
        return slice(int(start or 0), int(end) if end else None)


class Output(click.Path):
    """An output path: a `file`, a `folder` or `either`. A path that cannot be written is refused before the work begins.
    A folder above it that is not there is made, which the log says.

    `stream`: "-" is standard output. `shared`: a folder that gets files of its own names, and may hold the inputs. Commands
    refuse any other output that is an input, or another output (`groups.Command`). `mark`: a file that the folder has when
    the command wrote it: any other folder with files in it is refused, since the new one takes its place.
    """

    def __init__(self, kind: str, *, stream: bool = False, shared: bool = False, mark: str = "") -> None:
        super().__init__(path_type=Path)
        self.kind, self.stream, self.shared, self.mark = kind, stream, shared, mark

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from bitextbench.base.outputs import check_mark, check_output
        from bitextbench.base.progress import log

        path = Path(str(super().convert(value, param, ctx)))
        if str(path) != "-":
            check_output(path, self.kind)
            if self.mark:
                check_mark(path, self.mark)
            if not path.absolute().parent.exists():
                log(f"{path}: there is no folder {path.parent}, so it will be made")
        elif not self.stream:
            raise InputError(
                "this command cannot write to standard output", "-", remedy="name a file (./- for one called -)"
            )
        return path


class Device(click.ParamType):
    """cpu, cuda, or a number of GPUs: cuda where it is not 0."""

    name = "cpu|cuda"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if str(value).isdecimal():
            return "cuda" if int(value) else "cpu"
        if value not in ("cpu", "cuda"):
            self.fail(f"{value!r} is not a device: cpu, cuda", param, ctx)
        return str(value)


Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def with_options(command: Callable[..., None], options: Sequence[Decorator]) -> Callable[..., None]:
    """A command with options, in the order of its help."""
    return functools.reduce(lambda done, option: option(done), reversed(options), command)


def both(name: str, **options: Decorator) -> Decorator:
    """Two options, each by the name of its value, as one argument of a command: the tuple `name`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_both(**given: Any) -> None:
            command(**{name: tuple(given.pop(option) for option in options)}, **given)

        return with_options(with_both, [*options.values()])

    return decorate


OUT, OUT_FOLDER = Output("file"), Output("folder")
OUT_OR_DASH = Output("file", stream=True)
languages_option = both(
    "languages",
    src=click.option("--src", required=True, help="Source language code."),
    tgt=click.option("--tgt", required=True, help="Target language code."),
)
Shards = tuple[tuple[Path, ...], tuple[Path, ...]]  # of the sources, and of the targets
shards_option = both(
    "shards",
    src_emb=click.option(
        "--src-emb",
        type=FILE,
        multiple=True,
        required=True,
        help="Vectors of the sources, .npy [n, d]; or of all shards.",
    ),
    tgt_emb=click.option("--tgt-emb", type=FILE, multiple=True, required=True, help="Vectors of the targets."),
)
seed_option = click.option("--seed", type=SEED, default=1, help="Seed of all random draws.")
bootstrap_option = click.option("--seed", type=SEED, default=12345, help="Seed of the bootstrap.")
threads_option = click.option(
    "--threads",
    type=THREADS,
    default=cores,
    show_default="the cores of this process",
    help="CPU threads; results do not depend on it.",
)
device_option = click.option(
    "--device",
    "--gpus",
    "device",
    type=Device(),
    default="cpu",
    help="cpu or cuda. Rules of the workflow give a number of GPUs: 0 is the CPU.",
)
lowercase_option = click.option(
    "--lowercase/--cased", default=True, help="Letter case that the text model was learned with."
)
chinese_option = click.option(
    "--chinese",
    type=click.Choice(["jieba", "characters"]),
    default="jieba",
    help="Tokens of Chinese: Jieba's words, or characters.",
)
spec_option = click.option("--spec", type=Spec(), required=True, help="Its entry of the configuration.")
method_option = click.option("--spec", type=Spec("method"), required=True, help="Its entry of the configuration.")
data_option = click.option("--data", type=FILE, default=Path("data/raw"), help="Folder of fetched data sets.")
corpus_option = click.option("--corpus", type=FILE, required=True, help="Folder of a corpus.")
tokens_option = click.option("--tokens", type=FILE, required=True, help="The same corpus tokenised.")
checkpoints_option = click.option(
    "--checkpoints", type=FILE, required=True, help="Folder of checkpoints; kept when the job fails."
)
scale_option = click.option(
    "--scale",
    type=click.Choice(["tiny", "small", "paper"]),
    required=True,
    help="Scale of the run; only paper scale gets verdicts.",
)
count_option = click.option(
    "--count", type=click.Choice(["src", "tgt", "pairs"]), default="tgt", help="Side whose words count, or pairs."
)
budget_option = click.option("--budget", required=True, help="The budget's name.")
cache_option = click.option(
    "--cache", type=FILE, help="Folder where vectors are kept; $XDG_CACHE_HOME/bitextbench without it."
)
form_option = click.option(
    "--text-format",
    "form",
    type=Forms(),
    default="auto",
    help="Format of text files: lines, bucc (id<TAB>sentence) or auto; bucc,lines names that of each text.",
)
KINDS = "names in Parquet and JSON lines (translation.de), numbers from 1 in text."
COLUMNS = f"the sentences, and perhaps their ids: {KINDS}"
SKIP_BAD = "Count bad lines (not UTF-8, NUL, too few columns) as empty and log them; without it they are errors."
skip_bad_option = click.option("--skip-bad", is_flag=True, help=SKIP_BAD)
REPAIR = "Mend entities, mojibake, invisible characters, NFC and quotes first; the log counts lines by kind."
repair_option = click.option("--repair", is_flag=True, help=REPAIR)


def texts_option(help_text: str, kind: click.Path = FILE) -> Decorator:
    """Both texts, or one or none of them, as one argument: the tuple `texts`."""
    return both(
        "texts",
        src_text=click.option("--src-text", type=kind, help=help_text),
        tgt_text=click.option("--tgt-text", type=kind, help="The same of the targets."),
    )


ENCODER = (
    "muse (where none is given) or e5-small, or the folder of an encoder: trained here, of sentence-transformers, "
    "transformers or LASER."
)
prefix_option = click.option("--prefix", help="Text to put before each sentence, such as 'query: ' for e5.")


class EncoderChoice(NamedTuple):
    """What the options of an encoder say: `named` is a name, a folder, or None where none is given."""

    named: str | None
    prefix: str | None
    precision: str
    threads: int
    device: str

    def load(self) -> "SentenceEncoder":
        """The encoder: muse where none is named."""
        # it takes torch, which other vectors do not
        from bitextbench.encoders.plain import IN_PACKAGES, sentence_encoder

        if self.named and self.named not in IN_PACKAGES and not Path(self.named).exists():
            remedy = f"{near(self.named, IN_PACKAGES)} (or give the folder of an encoder: docs/mining.md, Encoders)"
            raise InputError("no encoder or folder has this name", self.named, remedy=remedy)
        return sentence_encoder(self.named or "muse", **{k: v for k, v in self._asdict().items() if k != "named"})


def encoder_options(command: Callable[..., None]) -> Callable[..., None]:
    """--encoder, --prefix and --encoder-precision of a command with --threads and --gpus: its argument `encoder`."""

    @functools.wraps(command)
    def with_choice(
        encoder: str | None, prefix: str | None, encoder_precision: str, threads: int, device: str, **others: Any
    ) -> None:
        choice = EncoderChoice(encoder, prefix, encoder_precision, threads, device)
        command(encoder=choice, threads=threads, device=device, **others)

    precision_option = click.option(
        "--encoder-precision",
        type=click.Choice(["fp32", "bf16", "auto"]),
        default="fp32",
        show_default=True,
        help="Number format of a published encoder. bf16 is about three times as fast where the processor has it.",
    )
    return with_options(with_choice, [click.option("--encoder", help=ENCODER), prefix_option, precision_option])


cells_option = click.option(
    "--cell",
    "cells",
    type=Spec(),
    multiple=True,
    help="JSON: row, column, files (FILE or FILE#KEY; several are test sets, whose mean it takes), seed, note.",
)
scores_option = click.option(
    "--scores", type=FILE, multiple=True, required=True, help="A file for each shard, in order."
)
named_scores_option = click.option(
    "--scores", type=(str, FILE), multiple=True, required=True, help="METHOD FILE, one for each shard, in order."
)


out_option = click.option("-o", "--out", type=Output("either"), required=True, help="Output.")
folder_option = click.option("-o", "--out", type=OUT_FOLDER, required=True, help="A folder.")
json_option = click.option("-o", "--out", type=OUT, help="Write the JSON here too.")
page_option = click.option("-o", "--out", type=OUT, required=True, help="A page of Markdown.")
measurements_option = click.option(
    "--measurements", type=OUT, help="Where the measurements of its cells go, for the audit: JSON."
)


def provenance_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command write what its table was made from, too."""

    @click.option("--config", type=Spec(), default="{}", help="The whole configuration, for the provenance.")
    @click.option("--made-of", type=FILE, multiple=True, help="A file or folder whose hashes go into the provenance.")
    @click.option("--benchmarks", type=FILE, help="Times and memory of the run, which the provenance then describes.")
    @click.option("--provenance", type=OUT, help="Where the provenance goes: JSON.")
    @functools.wraps(command)
    def run(
        config: dict[str, Any], made_of: tuple[Path, ...], benchmarks: Path | None, provenance: Path | None, **more: Any
    ) -> None:
        command(**more)
        if provenance:
            from bitextbench.report.provenance import collect

            collect(config, made_of, benchmarks, provenance)

    return run


csv_option = click.option("-o", "--out", type=OUT, required=True, help="CSV.")
HERE = Path(__file__).parents[1]  # read, as the import of these modules takes long


def constant(module: str, name: str) -> Any:
    """A constant of a module, which is read without being run."""
    return members.constants(HERE / module)[name]


K = constant("scoring/margins.py", "K")
MARGINS = constant("scoring/margins.py", "MARGINS")
SIMILARITIES = ("cosine", "dot", "euclidean", *MARGINS)
SIMILARITY = f"{', '.join(SIMILARITIES[:-1])} or {SIMILARITIES[-1]}."
STRATEGIES = constant("mining/retrieval.py", "STRATEGIES")


def search_options(k: int) -> Decorator:
    """The options of a search, `k` and the keywords of `neighbours.search`; only k changes the result."""
    of_k = click.option("-k", "--neighbours", "k", type=NEIGHBOURS, default=k, help="Size of a neighbourhood.")
    return lambda command: with_options(command, [of_k, *SEARCH_OPTIONS])


SEARCH_OPTIONS = (
    threads_option,
    click.option(
        "--memory",
        type=Numeric(float, 0, 1 << 20, above=True),
        default=1.0,
        callback=lambda _, __, gib: int(gib * 2**30),
        help="GiB of working memory, without the vectors and the result.",
    ),
    click.option(
        "--precision",
        type=click.Choice(["auto", "fp32", "bf16"]),
        default="auto",
        help="Number format of the search; auto: the fastest.",
    ),
    device_option,
    click.option(
        "--backend",
        type=click.Choice(["torch", "faiss"]),
        default="torch",
        help="Library of the search; torch takes the fastest product on a CPU.",
    ),
)


def show(result: dict[str, Any], out: Path | None) -> None:
    """Print a result as JSON, and write it to a file if one is given."""
    from bitextbench.base.json_yaml import write_json

    if out:
        write_json(out, result)
    click.echo(json.dumps(result, indent=2, ensure_ascii=False))


def similarities_option(default: str, more: str = "") -> Decorator:
    """One or several similarities; `more`: what the help says after their names."""
    text = f"{SIMILARITY}{more} May be given several times."
    return click.option("--similarity", "similarities", multiple=True, default=[default], help=text)


def by_name(given: Iterable[tuple[str, Path]]) -> dict[str, list[Path]]:
    """The files of each name, in the given order."""
    files: dict[str, list[Path]] = {}
    for name, path in given:
        files.setdefault(name, []).append(path)
    return files


def extreme_options(command: Callable[..., None]) -> Callable[..., None]:
    """Vectors and scores of a corpus, and which of its pairs count as extreme: the arguments `pairs` and `shares`."""

    @functools.wraps(command)
    def with_pairs(shards: Shards, scores: tuple[Path, ...], best: float, worst: float, **others: Any) -> None:
        from bitextbench.formats.scores import scores_by_id
        from bitextbench.formats.vectors import read_both

        pairs = (*read_both(*shards), scores_by_id(scores))  # both sides and the scores, in the order of ids
        command(pairs=pairs, shares={"best": best, "worst": worst}, **others)

    more = (
        seed_option,
        click.option("--worst", type=SHARE, default=0.5, help="The share of the pairs that bad ones are drawn from."),
        click.option("--best", type=SHARE, default=0.01, help="The share of the pairs, by score, that are good."),
        click.option("--model", type=FILE, required=True, help="The encoder that made the vectors."),
    )
    return with_options(with_pairs, [*more, scores_option, shards_option])
