"""The embedded corpus: right sentences, the same bytes everywhere, distinct, near-duplicates in documents."""

import hashlib
import itertools
import os
import random
import re
import subprocess
import sys
import unicodedata
from collections import defaultdict

import pytest

from bitextbench.base.errors import InputError
from bitextbench.data.synth import LANGUAGES, sentences
from bitextbench.data.synth.lexicon import key, table
from bitextbench.data.synth.meaning import (
    NP,
    Age,
    Born,
    Change,
    City,
    Clause,
    Complex,
    Coord,
    Copula,
    Cost,
    Money,
    Person,
    Pronoun,
    Question,
    Report,
    There,
    Time,
    Writer,
    change_one_fact,
    draw_document,
    paths,
    world,
)

CODES = ["en", "de", "fr", "es", "ru", "zh"]
ANNA, PETER = Person("Anna", "Keller", "f"), Person("Peter", "", "m")

# Written by hand; each frame is there for something that its languages do differently.
KNOWN = [
    (  # perfect with a final participle; dative and adjective endings; a/an; du; measure word
        Clause(ANNA, "give", obj=NP("book", "a", adj="red"), recipient=NP("engineer"), place=City("Berlin"),
               time=Time("past", "yesterday")),
        "Anna Keller gave a red book to the engineer in Berlin yesterday.",
        "Anna Keller hat gestern dem Ingenieur ein rotes Buch in Berlin gegeben.",
        "Anna Keller a donné un livre rouge à l'ingénieur à Berlin hier.",
        "Anna Keller dio un libro rojo al ingeniero en Berlín ayer.",
        "Анна Келлер дала инженеру красную книгу в Берлине вчера.",
        "安娜·凯勒昨天在柏林交给了工程师一本红色的书。",
    ),
    (  # verb-final subordinate clause first, then the inverted main clause; separable prefix
        Complex("because", Clause(PETER, "invite", obj=NP("neighbor")),
                Clause(NP("team", adj="old"), "cancel", obj=NP("festival")), True),
        "Because the old team canceled the festival, Peter invited the neighbor.",
        "Weil die alte Mannschaft das Festival abgesagt hat, hat Peter den Nachbarn eingeladen.",
        "Parce que la vieille équipe a annulé le festival, Peter a invité le voisin.",
        "Porque el equipo viejo canceló el festival, Peter invitó al vecino.",
        "Потому что старая команда отменила фестиваль, Петер пригласил соседа.",
        "因为旧的球队取消了联欢节，所以彼得邀请了邻居。",
    ),
    (  # separable verb in main and subordinate clause; reported speech
        Report(NP("minister"), "claim", "pres", Clause(NP("council"), "reject", "pres", obj=NP("plan", "this"))),
        "The minister claims that the council rejects this plan.",
        "Der Minister behauptet, dass der Rat diesen Plan ablehnt.",
        "Le ministre affirme que le conseil rejette ce plan.",
        "El ministro afirma que el consejo rechaza este plan.",
        "Министр заявляет, что совет отклоняет этот план.",
        "部长声称，理事会拒绝这个计划。",
    ),
    (
        Clause(NP("council"), "reject", "pres", obj=NP("plan", "this")),
        "The council rejects this plan.",
        "Der Rat lehnt diesen Plan ab.",
        "Le conseil rejette ce plan.",
        "El consejo rechaza este plan.",
        "Совет отклоняет этот план.",
        "理事会拒绝这个计划。",
    ),
    (  # numerals that govern; contraction; time first: German keeps the verb second
        Clause(NP("friend", "a", plural=True, number=3), "buy", obj=NP("car", "a", plural=True, number=5, adj="new"),
               time=Time("date", (1, 3, 2014)), fronted=True),
        "On March 1, 2014, three friends bought five new cars.",
        "Am 1. März 2014 haben drei Freunde fünf neue Autos gekauft.",
        "Le 1er mars 2014, trois amis ont acheté cinq nouvelles voitures.",
        "El 1 de marzo de 2014, tres amigos compraron cinco coches nuevos.",
        "1 марта 2014 года три друга купили пять новых автомобилей.",
        "2014年3月1日，三个朋友购买了五辆新的汽车。",
    ),
    (  # passive, agreement of the participle, agent in dative or instrumental
        Clause(NP("woman", "a", adj="young"), "build", obj=NP("church", "this"), passive=True,
               time=Time("year", (1995,))),
        "This church was built by a young woman in 1995.",
        "Diese Kirche wurde im Jahr 1995 von einer jungen Frau gebaut.",
        "Cette église a été construite par une jeune femme en 1995.",
        "Esta iglesia fue construida por una mujer joven en 1995.",
        "Эта церковь была построена молодой женщиной в 1995 году.",
        "这座教堂1995年被一个年轻的女人建造了。",
    ),
    (  # negation; government of the dative; im
        Clause(PETER, "help", obj=NP("doctor", adj="old"), neg=True, place=NP("hotel")),
        "Peter did not help the old doctor in the hotel.",
        "Peter hat dem alten Arzt nicht im Hotel geholfen.",
        "Peter n'a pas aidé le vieux médecin à l'hôtel.",
        "Peter no ayudó al médico viejo en el hotel.",
        "Петер не помог старому врачу в отеле.",
        "彼得没有在酒店里帮助年老的医生。",
    ),
    (  # do-support, est-ce que with elision, inversion, question words
        Question("why", Clause(ANNA, "travel", "past", goal=City("Rome"), source=City("Paris"))),
        "Why did Anna Keller travel from Paris to Rome?",
        "Warum ist Anna Keller von Paris nach Rom gereist?",
        "Pourquoi est-ce qu'Anna Keller est allée de Paris à Rome\u00a0?",
        "¿Por qué viajó Anna Keller de París a Roma?",
        "Почему Анна Келлер поехала из Парижа в Рим?",
        "安娜·凯勒为什么从巴黎前往了罗马？",
    ),
    (  # yes/no question
        Question("", Clause(NP("bear"), "attack", "fut", obj=NP("dog", plural=True, adj="black"))),
        "Will the bear attack the black dogs?",
        "Wird der Bär die schwarzen Hunde angreifen?",
        "Est-ce que l'ours attaquera les chiens noirs\u00a0?",
        "¿Atacará el oso los perros negros?",
        "Атакует ли медведь чёрных собак?",
        "熊将攻击那些黑色的狗吗？",
    ),
    (  # comparison
        Copula(NP("car", "this"), "expensive", than=NP("house", adj="old")),
        "This car is more expensive than the old house.",
        "Dieses Auto ist teurer als das alte Haus.",
        "Cette voiture est plus chère que la vieille maison.",
        "Este coche es más caro que la casa vieja.",
        "Этот автомобиль дороже, чем старый дом.",
        "这辆汽车比旧的房子更贵。",
    ),
    (  # percentages; du/del
        Change(NP("lemon"), False, 53, Time("past", "month")),
        "The price of the lemon fell by 5.3% last month.",
        "Der Preis für die Zitrone ist letzten Monat um 5,3 Prozent gefallen.",
        "Le prix du citron a baissé de 5,3\u00a0% le mois dernier.",
        "El precio del limón bajó un 5,3\u00a0% el mes pasado.",
        "В прошлом месяце цена на лимон упала на 5,3\u00a0%.",
        "上个月柠檬的价格下跌了5.3%。",
    ),
    (  # money and number formats
        Cost(NP("bridge"), Money(3_500_000, "euro")),
        "The bridge costs 3.5 million euros.",
        "Die Brücke kostet 3,5 Millionen Euro.",
        "Le pont coûte 3,5 millions d'euros.",
        "El puente cuesta 3,5 millones de euros.",
        "Мост стоит 3,5 миллиона евро.",
        "桥的价格是350万欧元。",
    ),
    (
        Cost(NP("boat", "this"), Money(12_300, "dollar")),
        "This boat costs 12,300 dollars.",
        "Dieses Boot kostet 12.300 Dollar.",
        "Ce bateau coûte 12\u00a0300 dollars.",
        "Este bote cuesta 12.300 dólares.",
        "Эта лодка стоит 12\u00a0300 долларов.",
        "这条小船的价格是1.23万美元。",
    ),
    (
        Age(ANNA, 34), "Anna Keller is 34 years old.", "Anna Keller ist 34 Jahre alt.", "Anna Keller a 34 ans.",
        "Anna Keller tiene 34 años.", "Анне Келлер 34 года.", "安娜·凯勒34岁。",
    ),
    (
        Born(ANNA, Time("date", (5, 8, 1974)), City("Florence")),
        "Anna Keller was born on August 5, 1974 in Florence.",
        "Anna Keller wurde am 5. August 1974 in Florenz geboren.",
        "Anna Keller est née le 5 août 1974 à Florence.",
        "Anna Keller nació el 5 de agosto de 1974 en Florencia.",
        "Анна Келлер родилась 5 августа 1974 года во Флоренции.",
        "安娜·凯勒1974年8月5日出生于佛罗伦萨。",
    ),
    (
        There(NP("mouse", "a", plural=True, number=22, adj="gray"), NP("kitchen")),
        "There are 22 gray mice in the kitchen.",
        "Es gibt in der Küche 22 graue Mäuse.",
        "Il y a 22 souris grises dans la cuisine.",
        "Hay 22 ratones grises en la cocina.",
        "На кухне находятся 22 серые мыши.",
        "厨房里有22只灰色的老鼠。",
    ),
    (  # relative clause; possessives; Spanish drops the pronoun; e before i-
        Coord("and", Clause(Pronoun("f"), "see", obj=NP("friend", "her")), Clause(Person("Irina", "", "f"), "meet",
              obj=NP("student", rel=Clause(NP("student"), "sell", obj=NP("phone", owner=NP("student")))))),
        "She saw her friend, and Irina met the student who sold the student's phone.",
        "Sie hat ihren Freund gesehen und Irina hat den Studenten, der das Telefon des Studenten verkauft hat, "
        "getroffen.",
        "Elle a vu son ami et Irina a rencontré l'étudiant qui a vendu le téléphone de l'étudiant.",
        "Vio a su amigo e Irina conoció al estudiante que vendió el teléfono del estudiante.",
        "Она увидела своего друга, и Ирина встретила студента, который продал телефон студента.",
        "她看见了她的朋友，而伊琳娜遇见了出售了学生的电话的学生。",
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def stream() -> tuple[list[tuple[str, tuple[str, ...]]], list[set[str]]]:
    """The first 20,000 lines in all languages, and the distinct sentences of each in 100,000."""
    lines, distinct = [], [set() for _ in CODES]
    for number, (doc, texts) in enumerate(itertools.islice(sentences("test", CODES, 1), 100_000)):
        for seen, text in zip(distinct, texts, strict=True):
            seen.add(text)
        if number < 20_000:
            lines.append((doc, texts))
    return lines, distinct


@pytest.fixture(scope="module")
def lines(stream) -> list[tuple[str, tuple[str, ...]]]:
    return stream[0]


@pytest.mark.parametrize(("meaning", "expected"), [(known[0], known[1:]) for known in KNOWN])
def test_known_sentences(meaning, expected):
    assert tuple(LANGUAGES[code]().sentence(meaning) for code in CODES) == expected


def digest(stretch: str, seed: int) -> str:
    rows = itertools.islice(sentences(stretch, CODES, seed), 1000)
    return hashlib.sha256("\n".join("\t".join((doc, *texts)) for doc, texts in rows).encode()).hexdigest()


def test_the_same_bytes_in_every_process():
    program = """if True:
        import hashlib, itertools
        from bitextbench.data.synth import LANGUAGES, sentences
        rows = itertools.islice(sentences("pool", list(LANGUAGES), 3), 1000)
        text = "\\n".join("\\t".join((doc, *texts)) for doc, texts in rows)
        print(hashlib.sha256(text.encode()).hexdigest())"""
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        out = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        assert out.stdout.strip() == digest("pool", 3)


def test_the_corpus_is_the_one_of_record():
    """A change of lexicon or grammar changes every tiny result: then set this to the new value, and make them again."""
    assert digest("pool", 1) == "a31871037590f8640321610e99ce53ac77ef8fae702db411050e62e3fa17822a"


def test_stretches_and_seeds_are_independent():
    def texts(stretch: str, seed: int) -> set[str]:
        return {texts[0] for _, texts in itertools.islice(sentences(stretch, ["en"], seed), 3000)}

    first = texts("pool", 1)
    assert len(first & texts("valid", 1)) < 0.05 * len(first)
    assert len(first & texts("pool", 2)) < 0.05 * len(first)


def test_text_does_not_depend_on_the_other_languages(lines):
    for column, code in enumerate(CODES):
        alone = itertools.islice(sentences("test", [code], 1), 300)
        assert list(alone) == [(doc, (texts[column],)) for doc, texts in lines[:300]]
    swapped = itertools.islice(sentences("test", ["zh", "en"], 1), 300)
    assert [texts for _, texts in swapped] == [(texts[5], texts[0]) for _, texts in lines[:300]]


def test_unknown_language_is_an_error_at_the_call():
    with pytest.raises(InputError, match=r"no language it, nl.*known: en, de, fr, es, ru, zh"):
        sentences("pool", ["en", "it", "nl"], 1)


def test_50_000_distinct_sentences_in_100_000(stream):
    assert min(len(distinct) for distinct in stream[1]) >= 50_000


def test_lines_are_clean(lines):
    for _, texts in lines:
        for code, text in zip(CODES, texts, strict=True):
            assert text == unicodedata.normalize("NFC", text)
            assert text == text.strip()
            assert not re.search(r"[\t\r\n]|  | [,.]|,,|,[.?]|None|[_=@~<*]", text), text
            assert text[-1] in ("。？" if code == "zh" else ".?"), text
            assert code == "zh" or text[0] == text[0].upper()


def test_lengths_vary_within_the_range(lines):
    for column in range(5):
        lengths = sorted(len(texts[column].split(" ")) for _, texts in lines)
        assert 7 < sum(lengths) / len(lengths) < 14
        assert lengths[200] <= 4 < 14 <= lengths[-1000] <= 20
        assert lengths[-1] <= 32
    assert 15 < sum(len(texts[5]) for _, texts in lines) / len(lines) < 30


def test_the_languages_differ(lines):
    chinese = [texts[5] for _, texts in lines]
    assert not any(" " in text for text in chinese)
    assert all(re.search("[\u4e00-\u9fff]", text) and not re.search("[A-Za-zÀ-ÿА-я]", text) for text in chinese)
    assert all(re.search("[А-Яа-яё]", texts[4]) and not re.search("[A-Za-z]", texts[4]) for _, texts in lines)
    assert all(len(set(texts)) == len(CODES) for _, texts in lines)
    final = [texts[1] for _, texts in lines if re.match(r"Obwohl|Weil", texts[1])]
    assert len(final) > 100
    assert all(re.search(r" (hat|haben|ist|sind|war|waren), ", text) for text in final)  # then the main clause's verb


def test_elision_contraction_and_articles(lines):
    """What must never stand side by side, by language."""
    vowel = "[aeiouyàâéèêîôœh]"
    wrong = {
        "en": r"\ba [aeio]|\ban [^aeiou]",
        "de": r"\b(in|an|von|bei) dem\b",
        "fr": rf"\b(le|la|de|que|ne|ce) (?!huit|onze){vowel}|\b(de|à) les?\b|\bdes nouveau",
        "es": r"\b(a|de) el\b|\by [iI]",
        "ru": r"\bв Фл|[гкхжшщч]ы",
        "zh": "，，|了了|的的",
    }
    for _, texts in lines:
        for code, text in zip(CODES, texts, strict=True):
            assert not re.search(wrong[code], text), text


def test_documents_share_people_and_hold_near_duplicates(lines):
    documents = defaultdict(list)
    for doc, texts in lines:
        documents[doc].append(texts[0])
    documents.popitem()  # the last may be cut
    assert all(6 <= len(texts) <= 20 for texts in documents.values())
    near = sum(
        any(differ_in_one_word(one.split(), two.split()) for one, two in itertools.combinations(texts, 2))
        for texts in documents.values()
    )
    assert near > 0.4 * len(documents)


def differ_in_one_word(one: list[str], two: list[str]) -> bool:
    return len(one) == len(two) and sum(a != b for a, b in zip(one, two, strict=True)) == 1


def test_one_fact_is_changed_and_nothing_else():
    rng, changed = random.Random(5), 0
    for _ in range(60):
        for meaning in draw_document(rng):
            other = change_one_fact(meaning, Writer(rng))
            if other is None:
                continue
            changed += 1
            assert list(paths(other)) == list(paths(meaning))
            leaves = [flat(meaning), flat(other)]
            assert sum(a != b for a, b in zip(*leaves, strict=True)) in (1, 2)  # a name: first, last, or both
    assert changed > 300


def flat(tree):
    """The leaves of a tree; a time or a price counts as one."""
    if isinstance(tree, Time | Money) or not hasattr(tree, "_fields"):
        return [tree]
    return [leaf for part in tree for leaf in flat(part)]


def test_frequencies_fall_like_zipf(lines):
    counts = defaultdict(int)
    for _, texts in lines:
        for word in re.findall(r"[a-z]+", texts[0].lower()):
            counts[word] += 1
    ordered = sorted(counts.values(), reverse=True)
    assert ordered[9] > 10 * ordered[299] > 0


@pytest.mark.parametrize("name", ["nouns", "adjectives", "verbs"])
def test_lexicon_is_complete(name):
    rows = table(name)
    keys = [key(row["en"]) for row in rows]
    assert len(set(keys)) == len(keys)
    assert all(row[code] for row in rows for code in CODES)
    if name == "nouns":
        assert all(re.fullmatch(r"[mfn] \S+ \S+( w)?", row["de"]) for row in rows)
        assert all(re.fullmatch(r"\S+ \S", row["zh"]) for row in rows)
        assert all(len(row["loc"].split()) in (0, 6) for row in rows)


def test_every_word_of_the_lexicon_can_be_said():
    """No cell makes a language stumble: all nouns by role, verbs by tense and voice, adjectives."""
    speakers = [LANGUAGES[code]() for code in CODES]
    nouns = [key(row["en"]) for row in table("nouns")]
    adjectives = [key(row["en"]) for row in table("adjectives")]
    meanings = [Clause(NP(n), "see", obj=NP(n, plural=True), recipient=NP(n)) for n in nouns]
    meanings += [There(NP(n, plural=True, number=k), City("Oslo")) for n in nouns for k in (2, 5, 22)]
    meanings += [
        Clause(NP("cat", adj=adj), "see", obj=NP(noun, "this", many, adj=adj))
        for adj, noun, many in itertools.product(adjectives, ["dog", "book"], [False, True])
    ]
    for frame in world().frames:
        for tense, many in itertools.product(["past", "pres", "fut", "can", "must", "want"], [False, True]):
            meanings.append(Clause(NP("woman", plural=many), frame.verb, tense))
            if frame.passive and tense not in ("pres", "want"):
                meanings.append(Clause(None, frame.verb, tense, obj=NP("book", plural=many), passive=True))
    for meaning in meanings:
        for speaker in speakers:
            text = speaker.sentence(meaning)
            assert len(text) > 3
            assert not re.search(r"  |[_=@~<*!]", text), text
