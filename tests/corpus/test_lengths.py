"""Good pairs of languages with and without spaces pass the default rules of `filter`; lengths are in one unit."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextbench.corpus.byte_lines import Lines
from bitextbench.corpus.prefilter import prefilter
from bitextbench.corpus.words import ENGLISH, USUAL, counts_words_as_english, usual_characters
from bitextbench.data.registry import entry
from bitextbench.mining.crawl import _words, usual_rules

ENGLISH_TEXT = """I like reading books.|He gets up early every morning.|It is very hot today.|Where is the train station?|I don't know her name.
My father works in a large hospital.|We went to the market yesterday to buy vegetables.|Can you help me carry this box?|The children are playing in the garden.
She has lived in this city for ten years.|I am hungry.|The meeting begins at nine o'clock tomorrow.|Please close the door.|This book is more interesting than that one.
If it rains, we will stay at home and watch a film."""
TRANSLATIONS = {  # written for this test
    "ja": """私は本を読むのが好きです。|彼は毎朝早く起きます。|今日はとても暑いです。|駅はどこですか。|彼女の名前を知りません。
父は大きな病院で働いています。|昨日、野菜を買いに市場へ行きました。|この箱を運ぶのを手伝ってくれますか。|子供たちは庭で遊んでいます。
彼女はこの町に十年住んでいます。|お腹が空きました。|会議は明日九時に始まります。|ドアを閉めてください。|この本はあの本より面白いです。
雨が降ったら、家にいて映画を見ます。""",
    "zh": """我喜欢看书。|他每天早上起得很早。|今天很热。|火车站在哪里?|我不知道她的名字。
我父亲在一家大医院工作。|我们昨天去市场买菜了。|你能帮我搬这个箱子吗?|孩子们在花园里玩。
她在这个城市住了十年了。|我饿了。|会议明天九点开始。|请关门。|这本书比那本更有意思。
如果下雨,我们就待在家里看电影。""",
    "th": """ฉันชอบอ่านหนังสือ|เขาตื่นแต่เช้าทุกวัน|วันนี้อากาศร้อนมาก|สถานีรถไฟอยู่ที่ไหน|ฉันไม่รู้จักชื่อของเธอ
พ่อของฉันทำงานในโรงพยาบาลใหญ่|เมื่อวานเราไปตลาดเพื่อซื้อผัก|คุณช่วยฉันยกกล่องนี้ได้ไหม|เด็กๆ กำลังเล่นอยู่ในสวน
เธออยู่ในเมืองนี้มาสิบปีแล้ว|ฉันหิวข้าว|การประชุมจะเริ่มพรุ่งนี้เวลาเก้าโมง|กรุณาปิดประตู|หนังสือเล่มนี้น่าสนใจกว่าเล่มนั้น
ถ้าฝนตก เราจะอยู่บ้านและดูหนัง""",
    "ar": """أحب قراءة الكتب.|يستيقظ مبكرا كل صباح.|الجو حار جدا اليوم.|أين محطة القطار؟|لا أعرف اسمها.
يعمل أبي في مستشفى كبير.|ذهبنا أمس إلى السوق لشراء الخضروات.|هل يمكنك مساعدتي في حمل هذا الصندوق؟|الأطفال يلعبون في الحديقة.
تعيش في هذه المدينة منذ عشر سنوات.|أنا جائع.|يبدأ الاجتماع غدا في الساعة التاسعة.|أغلق الباب من فضلك.|هذا الكتاب أكثر إثارة للاهتمام من ذاك.
إذا أمطرت سنبقى في البيت ونشاهد فيلما.""",
    "he": """אני אוהב לקרוא ספרים.|הוא קם מוקדם כל בוקר.|חם מאוד היום.|איפה תחנת הרכבת?|אני לא יודע את שמה.
אבא שלי עובד בבית חולים גדול.|הלכנו אתמול לשוק לקנות ירקות.|אתה יכול לעזור לי לשאת את הארגז הזה?|הילדים משחקים בגינה.
היא גרה בעיר הזאת כבר עשר שנים.|אני רעב.|הפגישה מתחילה מחר בתשע.|בבקשה תסגור את הדלת.|הספר הזה מעניין יותר מההוא.
אם ירד גשם, נישאר בבית ונראה סרט.""",
    "hi": """मुझे किताबें पढ़ना पसंद है।|वह हर सुबह जल्दी उठता है।|आज बहुत गर्मी है।|रेलवे स्टेशन कहाँ है?|मैं उसका नाम नहीं जानता।
मेरे पिता एक बड़े अस्पताल में काम करते हैं।|हम कल सब्ज़ियाँ खरीदने बाज़ार गए थे।|क्या आप यह बक्सा उठाने में मेरी मदद कर सकते हैं?|बच्चे बगीचे में खेल रहे हैं।
वह दस साल से इस शहर में रह रही है।|मुझे भूख लगी है।|बैठक कल नौ बजे शुरू होगी।|कृपया दरवाज़ा बंद कर दीजिए।|यह किताब उस किताब से ज़्यादा दिलचस्प है।
अगर बारिश हुई तो हम घर पर रहेंगे और फ़िल्म देखेंगे।""",
    "fa": """من کتاب خواندن را دوست دارم.|او هر روز صبح زود بیدار می‌شود.|امروز هوا خیلی گرم است.|ایستگاه قطار کجاست؟|من نام او را نمی‌دانم.
پدرم در یک بیمارستان بزرگ کار می‌کند.|دیروز برای خرید سبزی به بازار رفتیم.|می‌توانی کمکم کنی این جعبه را ببرم؟|بچه‌ها در باغ بازی می‌کنند.
او ده سال است که در این شهر زندگی می‌کند.|من گرسنه هستم.|جلسه فردا ساعت نه شروع می‌شود.|لطفا در را ببند.|این کتاب از آن یکی جالب‌تر است.
اگر باران ببارد، در خانه می‌مانیم و فیلم می‌بینیم.""",
    "ko": """나는 책 읽기를 좋아합니다.|그는 매일 아침 일찍 일어납니다.|오늘은 매우 덥습니다.|기차역이 어디에 있습니까?|나는 그녀의 이름을 모릅니다.
아버지는 큰 병원에서 일하십니다.|우리는 어제 야채를 사러 시장에 갔습니다.|이 상자를 나르는 것을 도와주시겠습니까?|아이들이 정원에서 놀고 있습니다.
그녀는 이 도시에서 십 년 동안 살았습니다.|배가 고픕니다.|회의는 내일 아홉 시에 시작합니다.|문을 닫아 주세요.|이 책이 저 책보다 더 재미있습니다.
비가 오면 우리는 집에서 영화를 볼 것입니다.""",
}
MIRROR = Path(os.environ.get("BITEXTBENCH_MIRROR", "").split(os.pathsep)[0] or "none")


def sentences(text: str) -> list[str]:
    return [line for part in text.split("\n") for line in part.split("|")]


def kept(src: list[str], tgt: list[str], languages: tuple[str, str], rules: dict | None = None) -> int:
    table = pa.table({"src": pa.array(src, pa.string()), "tgt": pa.array(tgt, pa.string())})
    return int(prefilter(table, usual_rules(languages) if rules is None else rules, languages).passed.sum())


@pytest.mark.parametrize("code", TRANSLATIONS)
def test_good_pairs_pass_the_default_rules(code):
    own, english = sentences(TRANSLATIONS[code]), sentences(ENGLISH_TEXT)
    assert len(own) == len(english) == 15
    assert kept(own, english, (code, "en")) >= 14
    assert kept(english, own, ("en", code)) >= 14
    longer = [" ".join(english[i:] + english[:i]) for i in range(3)]  # and no longer text of one side alone
    assert kept(own[:3], longer, (code, "en")) == 0
    assert kept(own[:1] * 3, ["Yes.", "No.", "!"], (code, "en")) == 0


@pytest.mark.skipif(not MIRROR.exists(), reason="no mirror: set BITEXTBENCH_MIRROR")
@pytest.mark.parametrize("code", ["de", "fr", "es", "ru", "zh"])
def test_tatoeba_passes_the_default_rules(code):
    """The figures of all twelve languages are in docs/mining.md."""
    texts = {}
    for file in entry(f"tatoeba-laser-v1.{code}-en").files:
        path = MIRROR / file.url.removeprefix("https://")
        texts[path.suffix] = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    english = texts.pop(".eng")
    (own,) = texts.values()
    assert len(own) == 1000
    assert kept(own, english, (code, "en")) >= 950


@pytest.mark.parametrize("code", ["zh", "zh-Hans", "zh-TW", "zho", "cmn", "zh_CN", "yue", "zho_Hans", "chi"])
def test_every_code_of_chinese_is_without_spaces(code):
    rules = {"min_tokens": 3, "max_ratio": 2.0}
    assert kept(["我今天早上去学校学习。"], ["I went to school to study this morning."], (code, "en"), rules) == 1


@pytest.mark.parametrize("codes", [("ja", "jpn", "ja-JP", "jpn_Jpan"), ("th", "tha", "th-TH"), ("ko", "kor", "ko_KR"), ("de", "deu", "ger", "de-DE", "de_AT")])  # fmt: skip
def test_codes_of_one_language_mean_the_same(codes):
    own = sentences(TRANSLATIONS.get(codes[0], ENGLISH_TEXT))
    found = {
        code: kept(own, sentences(ENGLISH_TEXT), (code, "en"), {"min_tokens": 4, "max_ratio": 1.5}) for code in codes
    }
    assert len({*found.values()}) == 1, found


def test_a_language_that_is_not_identified_leaves_that_rule_out(capsys):
    tibetan = ["ང་དེབ་ཀློག་པར་དགའ།"]
    assert kept(tibetan, ["I like reading books."], ("bo", "en")) == 1
    assert "py3langid cannot identify bo; the rule `language` is left out" in capsys.readouterr().err


def test_words_of_a_language_without_spaces():
    text = pa.chunked_array([["我今天早上去学校学习。" * 4, "好", "", None]])
    assert _words(text, "zh").tolist() == [round(44 / (ENGLISH * USUAL["zh"][1])), 1, 1, 1]
    assert _words(pa.chunked_array([["a b  c ", ""]]), "en").tolist() == [4, 0]


@given(st.lists(st.text("ab 中文学\u3000é", max_size=8), min_size=1), st.sampled_from(["zh", "en", "ko", "und"]))
def test_lengths_in_words_are_those_of_a_loop(lines, code):
    visible = np.array([len("".join(line.split())) for line in lines])
    expected = visible / (ENGLISH * usual_characters(code)) if code == "zh" else [len(line.split()) for line in lines]
    np.testing.assert_allclose(Lines(pa.array(lines, pa.string()), code).in_words, expected)


def test_which_languages_are_compared_in_words():
    assert all(counts_words_as_english(code) for code in ("de", "fr", "es", "ru", "en", "ar", "hi", "fa", "xx"))
    assert not any(
        counts_words_as_english(code) for code in ("zh", "ja", "th", "ko", "he", "tr", "lo", "km", "my", "bo")
    )
