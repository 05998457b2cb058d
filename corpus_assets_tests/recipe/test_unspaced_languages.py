"""The demo's rules fit languages without spaces: prose stays, spam and menus go."""

import csv
from pathlib import Path

import pyarrow as pa
import pytest

from corpus_assets.recipe.load import load_recipe
from corpus_assets.select.rules import SelectionSettings
from corpus_assets.select.selection import select
from corpus_assets.signals.base import CountsWords
from corpus_assets.signals.stages.signals import compute_signals
from corpus_assets.signals.stop_words import StopWords

RECIPES = Path(__file__).parents[2] / "recipes"
LANGUAGES = {"bo", "ja", "km", "lo", "my", "th", "zh"}

CHINESE = """昨天下午，住在河边的老人们聚在一起，谈起了三十年前修桥的往事。
那时候村里没有公路，孩子们要坐小船才能到对岸去上学。每逢雨季，河水上涨，船夫就不敢出门。
后来县里派来了一位年轻的工程师。他在村里住了整整两年，白天测量水位，晚上在灯下画图。
“桥墩要打得深一些，”他常常对工人们说，“因为这条河每隔十年就会发一次大水。”
大家起初并不相信他的话，可是第二年夏天洪水果然来了，刚刚建好的桥稳稳地站在水中。
如今工程师已经退休，每年春天他还会回来看看，听一听桥下流水的声音。
孩子们围着他，请他讲一讲当年怎样把石头一块一块地运到山上。"""
JAPANESE = """海辺の小さな町で、古い灯台を図書館に変える計画が進んでいます。
きっかけは、十年前に灯台守の仕事を終えた男性が残した三千冊の本でした。
町の人々は週末ごとに集まり、床を磨き、棚を作り、窓の枠を青く塗り直しました。
「最初は誰も来ないと思っていました」と、計画をまとめた女性は笑います。
しかし夏になると、近くの学校の子どもたちが自転車で坂を上ってくるようになりました。
二階の部屋からは港が見え、本を読みながら船の出入りを眺めることができます。
冬の夜には、漁師が昔の嵐の話を聞かせる会も開かれているそうです。"""
THAI = """เมื่อวานนี้ชาวบ้านริมแม่น้ำมารวมตัวกันเพื่อพูดคุยเรื่องสะพานไม้เก่าที่สร้างมาสามสิบปีแล้ว
สมัยก่อนเด็กต้องนั่งเรือไปโรงเรียนทุกเช้า และในฤดูฝนน้ำขึ้นสูงจนคนพายเรือไม่กล้าออกไป
ต่อมาวิศวกรหนุ่มคนหนึ่งมาอยู่ที่หมู่บ้านสองปี กลางวันเขาวัดระดับน้ำ กลางคืนเขาเขียนแบบใต้แสงตะเกียง
ทุกวันนี้เขาเกษียณแล้ว แต่ทุกฤดูใบไม้ผลิเขายังกลับมาฟังเสียงน้ำไหลใต้สะพาน"""
BAD = {
    "zh, one offer again and again": ("点击这里领取优惠券，免费注册送大礼！" * 60, "top_3_gram"),
    "zh, a menu": ("\n".join(["首页", "新闻", "体育", "财经", "娱乐", "汽车", "房产"] * 12), "list_like"),
    "zh, a footer": ("版权所有 未经授权 不得转载 京ICP备12345号", "word_count"),
    "zh, numbers": ("\n".join(f"{n} 元 {n * 7} {n * 3}%" for n in range(80)), "few_alphabetic_words"),
    "ja, one offer again and again": ("今すぐ無料登録でポイントをもらおう！" * 60, "top_3_gram"),
    "ja, a menu": ("\n".join(["ホーム", "会社概要", "製品", "採用", "お問い合わせ"] * 15), "list_like"),
    "th, one offer again and again": ("สมัครวันนี้รับโบนัสฟรีทันที " * 60, "top_4_gram"),
}  # fmt: skip


def failed_rules(language: str, text: str) -> list[str]:
    """Names of the demo's rules that a page fails, those of language and quality aside."""
    recipe = load_recipe(RECIPES / "demo.yaml")
    families = tuple(
        family
        for family in recipe.signals.families
        if isinstance(family, CountsWords) and not family.needs()
    )
    documents = pa.table(
        {
            "doc_id": pa.array([bytes(16)], pa.binary(16)),
            "domain": pa.array(["web"]),
            "text": pa.array([text], pa.large_string()),
        }
    )
    signals = compute_signals(documents, recipe.signals.only(families), {})
    signals = signals.append_column("language", pa.array([language]))
    rules = tuple(r for r in recipe.selection.rules if r.signal in signals.schema.names)
    kept = SelectionSettings(rules=tuple(r for r in rules if r.name != "language"))
    return list(select(documents, signals, kept, {})["failed_rules"][0].as_py())


@pytest.mark.parametrize(("language", "text"), [("zh", CHINESE), ("ja", JAPANESE), ("th", THAI)])
def test_prose_without_spaces_passes_the_rules_of_the_demo(language: str, text: str) -> None:
    assert failed_rules(language, text) == []


@pytest.mark.parametrize("name", BAD)
def test_spam_menus_and_footers_still_go(name: str) -> None:
    text, rule = BAD[name]
    assert rule in failed_rules(name.split(",")[0], text)


def table(name: str) -> dict[str, dict[str, str]]:
    with open(RECIPES / name, encoding="utf-8") as lines:
        return {row.pop("language"): row for row in csv.DictReader(lines)}


def test_the_bounds_of_the_demo_are_those_of_fineweb2() -> None:
    published, ours = table("fineweb2-languages.csv"), table("unspaced-languages.csv")
    assert set(ours) == LANGUAGES
    for language, bounds in ours.items():
        assert bounds.items() <= published[language].items()


def test_fineweb2_has_rules_and_stop_words_for_each_of_its_languages() -> None:
    recipe = load_recipe(RECIPES / "fineweb2.yaml")
    (languages,) = (rule.allowed for rule in recipe.selection.rules if rule.name == "language")
    assert set(languages or ()) == set(table("fineweb2-languages.csv")) >= LANGUAGES
    (stops,) = (f for f in recipe.signals.families if type(f) is StopWords)
    assert set(stops.languages) == set(languages or ())
    assert all(len(words) > 5 for words in stops.languages.values())
