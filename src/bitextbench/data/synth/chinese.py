"""Chinese: no spaces, no inflection; time, place and manner before the verb, clauses before the noun, measure words."""

from typing import Any

from bitextbench.data.synth.grammar import PEOPLE, Language
from bitextbench.data.synth.lexicon import cell, table
from bitextbench.data.synth.meaning import (
    Age,
    Born,
    Change,
    City,
    Clause,
    Complex,
    Coord,
    Copula,
    Cost,
    Person,
    There,
)

SAYS = {cell(row["zh"])[0][0] for row in table("verbs") if row["args"].endswith(">s")}


class Chinese(Language):
    """No spaces, no inflection: time, place and manner before the verb, clauses before the noun, measure words."""

    code, that = "zh", "，"
    he, she = "他", "她"
    date, month, year, clock, hour = "{y}年{m}月{d}日", "{y}年{m}月", "{y}年", "{h}点{m:02}分", "{h}点"

    def np(self, x: Any) -> str:
        if isinstance(x, Person):
            return self.names[x.first] + (f"·{self.names[x.last]}" if x.last else "")
        return super().np(x)

    def phrase(self, x: Any) -> str:
        noun, measure = self.nouns[x.noun][0]
        if x.number:
            det = self.count(x.number) + measure
        elif x.det == "this":
            det = "这些" if x.plural else f"这{measure}"
        elif x.det == "a":
            det = "一些" if x.plural else f"一{measure}"
        elif x.det in ("his", "her"):
            det = "他的" if x.det == "his" else "她的"
        else:
            det = f"{self.np(x.owner)}的" if x.owner else "那些" if x.plural else ""
        rel = f"{self.clause(x.rel, relative=True)}的" if x.rel else ""
        return rel + det + (f"{self.adj(x.adj, x.noun)}的" if x.adj else "") + noun

    def adj(self, adj: str, noun: str) -> str:
        """The form of an adjective; some have another form for people."""
        (form, *_), special = self.adjectives[adj]
        return special.get("p", form) if noun in PEOPLE else form

    def __init__(self) -> None:
        super().__init__()
        self.names = {row["latin"]: row["zh"] for row in table("names")}

    def clause(self, c: Any, relative: bool = False) -> str:
        match c:
            case Copula(subj, adj, _, than):
                form = self.adj(adj, subj.noun)
                return self.np(subj) + (f"比{self.np(than)}更{form}" if than else f"很{form}")
            case Change(what, up, tenths, time):
                return f"{self.time(time)}{self.np(what)}的价格{'上涨' if up else '下跌'}了{self.percent(tenths)}%"
            case Cost(subj, price):
                return f"{self.np(subj)}的价格是{self.number(price.amount)}{self.words['currency', price.currency]}"
            case Age(subj, years):
                return f"{self.np(subj)}{years}岁"
            case Born(subj, time, place):
                return f"{self.np(subj)}{self.time(time)}出生于{self.np(place)}"
            case There(what, place):
                return f"{self.place(place)[1:]}有{self.np(what)}"
        when = self.time(c.time)
        subj = self.np(c.obj if c.passive else c.subj) if not relative else ""
        verb = self.verbs[c.verb][0][0]
        modal = (
            {"past": "没有", "pres": "不", "fut": "不会", "can": "不能", "want": "不想"}
            if c.neg
            else {"fut": "将", "can": "能", "must": "必须", "want": "想"}
        )
        text = "".join(
            (
                self.adverb(c, "mid"),
                modal.get(c.tense, ""),
                self.place(c.place) if c.place else "",
                f"被{self.np(c.subj) if c.subj else ''}" if c.passive else "",
                self.adverb(c, "manner"),
                f"从{self.np(c.source)}" if c.source else "",
                verb,
                "了" if c.tense == "past" and not c.neg and verb not in SAYS else "",
                self.np(c.recipient) if c.recipient else "",
                self.np(c.obj) if c.obj and not c.passive else "",
                self.np(c.goal) if c.goal else "",
            )
        )
        return f"{when}，{subj}{text}" if c.fronted and not relative else subj + when + text

    def place(self, place: Any) -> str:
        return f"在{self.np(place)}" + ("" if isinstance(place, City) else self.locs[place.noun].strip("-"))

    def say(self, meaning: Any) -> str:
        match meaning:
            case Complex("when", main, sub):
                return f"{self.clause(sub)}的时候，{self.clause(main)}"
            case Complex("because", main, sub):
                return f"因为{self.clause(sub)}，所以{self.clause(main)}"
            case Complex("although", main, sub):
                return f"虽然{self.clause(sub)}，但是{self.clause(main)}"
            case Coord(conj, left, right):
                return f"{self.clause(left)}，{self.words['conj', conj]}{self.clause(right)}"
        return super().say(meaning)

    def question(self, wh: str, c: Clause) -> str:
        """The question word has the place of its answer: when, where and why come after the subject."""
        text = self.clause(c)
        if not wh:
            return f"{text}吗"
        head = self.np(c.subj) + self.time(c.time)
        return head + wh + text.removeprefix(head)

    def finish(self, text: str, question: bool) -> str:
        return text + ("？" if question else "。")

    def number(self, value: int) -> str:
        return f"{value / 10_000:g}万" if value >= 10_000 and value % 100 == 0 else str(value)
