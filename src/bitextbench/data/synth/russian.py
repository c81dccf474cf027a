"""Russian: six cases, animacy, numerals that govern, no articles."""

import re
from typing import Any

from bitextbench.data.synth.grammar import NBSP, Language, plural, words
from bitextbench.data.synth.lexicon import table
from bitextbench.data.synth.meaning import NP, Age, Born, Change, City, Clause, Copula, Cost, Person, Pronoun, There

CASES = ("nom", "gen", "dat", "acc", "ins", "loc")
HARD = {"m": "ый ого ому * ым ом", "f": "ая ой ой ую ой ой", "n": "ое ого ому ое ым ом", "p": "ые ых ым * ыми ых"}
SOFT = {"m": "ий его ему * им ем", "f": "яя ей ей юю ей ей", "n": "ее его ему ее им ем", "p": "ие их им * ими их"}
THIS = {
    "m": "этот этого этому * этим этом",
    "f": "эта этой этой эту этой этой",
    "n": "это этого этому это этим этом",
    "p": "эти этих этим * этими этих",
}
OWN = {
    "m": "свой своего своему * своим своём",
    "f": "своя своей своей свою своей своей",
    "n": "своё своего своему своё своим своём",
    "p": "свои своих своим * своими своих",
}
BE = {"m": "был", "f": "была", "n": "было", "p": "были"}


def russian_spelling(form: str) -> str:
    """ы is not written after velars and hushers."""
    return re.sub("([гкхжшщч])ы", r"\1и", form)


def decline(marks: str, nominative: str, special: dict[str, str]) -> dict[str, str]:
    """The forms of a Russian noun: nom, gen, dat, acc, ins, loc; Nom, Gen, Dat, Acc are the plural's."""
    if "0" in marks:
        return dict.fromkeys(("nom", "gen", "dat", "acc", "ins", "loc"), nominative)
    last, stem = nominative[-1], special.get("s", nominative[:-1])
    husher = nominative[-2] in "жшщчц"
    if marks[0] == "f" and last == "ь":
        table_ = "и и ь ью и и ей"
    elif last == "ь":
        table_ = f"я ю * {'ём' if '!' in marks else 'ем'} е и ей"
    elif last == "й":
        table_ = f"я ю * ем {'и' if nominative.endswith('ий') else 'е'} и ев"
    elif last == "а":
        table_ = f"ы е у {'ей' if husher else 'ой'} е ы -"
    elif last == "я":
        table_ = "и и ю ей и и й" if nominative.endswith("ия") else "и е ю ей е и ь"
    elif last == "о":
        table_ = "а у о ом е а -"
    elif last == "е":
        table_ = "я ю е ем и я й" if nominative.endswith("ие") else "я ю е ем е я й"
    else:
        stem, hush = special.get("s", nominative), last in "жшщчц"
        ending = "ей" if last in "жшщч" else "ев" if last == "ц" and "!" not in marks else "ов"
        table_ = f"а у * {'ем' if hush and '!' not in marks else 'ом'} е ы {ending}"
    gen, dat, acc, ins, loc, Nom, Gen = (stem + ending.strip("-") for ending in table_.split())
    forms = {"nom": nominative, "gen": gen, "dat": dat, "ins": ins, "loc": special.get("l", loc)}
    forms |= {"Nom": special.get("p", Nom), "Gen": special.get("gp", Gen)}
    animate = "a" in marks
    forms["acc"] = (forms["gen"] if animate else nominative) if acc.endswith("*") else acc
    if marks[0] == "f" and last == "ь":
        forms["acc"] = nominative
    forms["Acc"] = forms["Gen" if animate else "Nom"]
    forms["Dat"] = forms["Nom"][:-1] + ("ам" if re.search("([аы]|[гкхжшщч]и)$", forms["Nom"]) else "ям")
    return {case: russian_spelling(special.get(case, form)) for case, form in forms.items()}


class Russian(Language):
    code, that, before_sub, and_, but = "ru", ", что ", ", ", ", {} ", ", {} "
    comma, group, point, group_from = "", NBSP, ",", 10_000
    date, month, year, clock = "{d} {month} {y} года", "в {stem}е {y} года", "в {y} году", "в {h}:{m:02}"

    def __init__(self) -> None:
        super().__init__()
        self.forms = {noun: decline(forms[0], forms[1], special) for noun, (forms, special) in self.nouns.items()}
        self.city_forms = {name: decline(text.split()[0], text.split()[1], {}) for name, text in self.cities.items()}
        names = {row["latin"]: (row["type"], row["ru"]) for row in table("names")}
        self.first = {name: decline(f"{kind}a", form, {}) for name, (kind, form) in names.items() if kind != "l"}
        self.last = {name: decline("ma", form, {}) for name, (kind, form) in names.items() if kind == "l"}

    def gender(self, x: Any) -> str:
        if isinstance(x, Person | Pronoun):
            return x.gender
        return "p" if x.plural else self.nouns[x.noun][0][0][0]

    def np(self, x: Any, case: str = "nom") -> str:
        match x:
            case Person(first, last, gender):
                return words(self.first[first][case], self.last[last][case if gender == "m" else "nom"] if last else "")
            case Pronoun(gender):
                return "он" if gender == "m" else "она"
            case City(name):
                return self.city_forms[name][case]
        marks = self.nouns[x.noun][0][0]
        gender, animate = self.gender(x), "a" in marks
        forms = self.forms[x.noun]
        if x.number:
            text = self.counted(x, case, marks[0], animate)
        else:
            own = {"this": THIS, "his": OWN, "her": OWN}.get(x.det)
            det = self.pick(own, gender, case, animate) if own else ""
            adj = self.adj(x.adj, gender, case, animate) if x.adj else ""
            text = words(det, adj, forms[case.capitalize() if x.plural else case])
        if x.owner:
            text += " " + self.np(x.owner, "gen")
        if x.rel:
            text += f", {self.adj('which', gender, 'nom', animate)} {self.relative(x.rel)},"
        return text

    def counted(self, x: NP, case: str, gender: str, animate: bool) -> str:
        """Two to four take the genitive singular, five and on the genitive plural; adjectives stand in the plural."""
        forms, few = self.forms[x.noun], x.number % 10 in (2, 3, 4) and x.number % 100 not in (12, 13, 14)
        adj = lambda case: self.adj(x.adj, "p", case, False) if x.adj else ""  # noqa: E731
        numerals = self.count(x.number).split(" ") if x.number <= 10 else [self.number(x.number)] * 4
        if case == "dat":
            return words(numerals[3], adj("dat"), forms["Dat"])
        if case == "acc" and animate and x.number <= 4:
            return words(numerals[2], adj("gen"), forms["Gen"])
        number = numerals[gender == "f"]
        return words(number, adj("nom" if few and gender == "f" else "gen"), forms["gen" if few else "Gen"])

    def pick(self, forms: dict[str, str], gender: str, case: str, animate: bool) -> str:
        row = forms[gender].split()
        form = row[CASES.index(case)]
        return row[CASES.index("gen" if animate else "nom")] if form == "*" else form

    def adj(self, adj: str, gender: str, case: str, animate: bool) -> str:
        form = self.adjectives[adj][0][0] if adj != "which" else "который"
        stem, stressed = form[:-2], form.endswith("ой")
        soft = form.endswith("ий") and stem[-1] not in "гкхжшщч"
        if gender == "m" and (case == "nom" or (case == "acc" and not animate)):
            return form
        ending = self.pick(SOFT if soft else HARD, gender, case, animate)
        if stem[-1] in "жшщч" and not stressed and ending[0] == "о":
            ending = "е" + ending[1:]
        return russian_spelling(stem + ending)

    def verb(self, verb: str) -> dict[str, str]:
        forms, special = self.verbs[verb]
        infinitive, pres, pres_many, fut, fut_many, *passive = [form for form in forms if form[0] != "@"]
        past = infinitive[:-4] + "лся" if infinitive.endswith("ться") else infinitive.removesuffix("ть") + "л"
        past = special.get("past", past)
        reflexive = "сь" if past.endswith("ся") else ""
        base = past.removesuffix("ся")
        stem = re.sub("ёл$", "л", base) if base.endswith("л") else base.replace("ё", "е") + "л"
        persons = {"inf": infinitive, "pres": pres, "Pres": pres_many, "fut": fut, "Fut": fut_many}
        past_forms = {"m": past} | {gender: stem + end + reflexive for gender, end in zip("fnp", "аои", strict=True)}
        return persons | past_forms | {"passive": passive[0] if passive else ""}

    def vp(self, c: Clause) -> tuple[str, str]:
        """The finite verb and what follows it."""
        done = c.obj if c.passive else c.subj
        gender, many = self.gender(done), plural(done)
        verb = self.verb(c.verb)
        must = "долж" + {"m": "ен", "f": "на", "n": "но", "p": "ны"}[gender]
        can, want = ("могут", "хотят") if many else ("может", "хочет")
        short = {"m": "", "f": "а", "n": "о", "p": "ы"}[gender]
        done_form = verb["passive"].replace("ён", "ен" if short else "ён") + short
        modal = {"can": can, "must": must, "want": want}.get(c.tense)
        if modal:
            return modal, f"быть {done_form}" if c.passive else verb["inf"]
        if c.passive:
            return BE[gender] if c.tense == "past" else "будут" if many else "будет", done_form
        return verb[gender if c.tense == "past" else c.tense.capitalize() if many else c.tense], ""

    def fact(self, fact: Any) -> str:
        match fact:
            case Copula(subj, adj, past, than):
                gender = self.gender(subj)
                if than:
                    return f"{self.np(subj)} {self.adjectives[adj][0][1]}, чем {self.np(than)}"
                return words(self.np(subj), BE[gender] if past else "", self.adj(adj, gender, "nom", False))
            case Change(what, up, tenths, time):
                text = f"цена на {self.np(what, 'acc')} {'выросла' if up else 'упала'} на {self.percent(tenths)}{NBSP}%"
                return f"{self.time(time)} {text}"
            case Cost(subj, price):
                currency = self.words["currency", price.currency].split()
                return f"{self.np(subj)} стоит {self.price(price.amount, currency)}"
            case Age(subj, years):
                return f"{self.np(subj, 'dat')} {years} {self.measure(years, ['год', 'года', 'лет'])}"
            case Born(subj, time, place):
                born = "родился" if subj.gender == "m" else "родилась"
                return f"{self.np(subj)} {born} {self.time(time)} {self.place(place)}"
            case There(what, place):
                return f"{self.place(place)} находятся {self.np(what)}"
        return super().fact(fact)

    def event(self, c: Clause, subj: str) -> str:
        finite, verb = self.vp(c)
        manner = self.adverb(c, "manner")
        verb = words(finite, manner, verb) if verb else words(manner, finite)
        return words(subj, self.adverb(c, "mid"), "не" if c.neg else "", verb, self.rest(c))

    def rest(self, c: Clause) -> str:
        case = next((form[1:] for form in self.verbs[c.verb][0] if form[0] == "@"), "acc")
        return words(
            self.np(c.recipient, "dat") if c.recipient else "",
            self.np(c.obj, case) if c.obj and not c.passive else "",
            f"из {self.np(c.source, 'gen')}" if c.source else "",
            f"{self.into(c.goal)} {self.np(c.goal, 'acc')}" if c.goal else "",
            self.np(c.subj, "ins") if c.passive and c.subj else "",
            self.place(c.place) if c.place else "",
        )

    def into(self, city: City) -> str:
        return "во" if self.cities[city.name].split()[1].startswith("Фл") else "в"

    def place(self, place: Any) -> str:
        return f"{self.into(place) if isinstance(place, City) else self.locs[place.noun]} {self.np(place, 'loc')}"

    def question(self, wh: str, c: Clause) -> str:
        if wh:
            return f"{wh} {self.clause(c)}"
        finite, verb = self.vp(c)
        return words(finite, "ли", self.np(c.subj), verb, self.rest(c), self.time(c.time))

    @staticmethod
    def measure(value: int, forms: list[str]) -> str:
        if value % 100 in (11, 12, 13, 14) or value % 10 in (0, 5, 6, 7, 8, 9):
            return forms[2]
        return forms[0] if value % 10 == 1 else forms[1]

    def price(self, amount: int, currency: list[str]) -> str:
        if amount < 1_000_000:
            return f"{self.number(amount)} {self.measure(amount, currency)}"
        whole = amount % 1_000_000 == 0
        million = self.measure(amount // 1_000_000, ["миллион", "миллиона", "миллионов"]) if whole else "миллиона"
        return f"{self.percent(amount // 100_000)} {million} {currency[2]}"
