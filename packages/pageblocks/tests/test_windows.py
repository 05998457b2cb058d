"""Consent layers, old browsers and apps: what a page says to the reader's program is not its text."""

import pytest

from pageblocks import extract
from pageblocks.kernels.blocks import find_blocks
from pageblocks.kernels.page_names import LAYER_BIT

STORY = (
    "The river rose by two metres in the night, and the lower town was under water by dawn. Nobody was "
    "hurt, but forty families had to leave their homes.",
    "The mayor said the dam had held as it was built to do. She asked for help from the neighbouring "
    "towns, which sent boats and blankets before noon.",
)
MENU = "<header><ul><li><a href=/a>News</a><li><a href=/b>Sport</a></ul></header>"
FOOT = "<footer><a href=/i>Imprint</a> © 2025 Daily</footer>"
ASKING = {
    "en": (
        "We value your privacy",
        "We and our 842 partners store information on a device, such as cookies, to show ads and to measure them.",
        "Accept all",
        "Manage options",
    ),
    "de": (
        "Ihre Privatsphäre",
        "Wir und unsere Partner speichern Informationen auf einem Gerät, zum Beispiel Cookies, für Anzeigen.",
        "Alle akzeptieren",
        "Einstellungen",
    ),
    "pl": (
        "Szanujemy Twoją prywatność",
        "My i nasi partnerzy przechowujemy informacje na urządzeniu, takie jak pliki cookie, w celu reklam.",
        "Akceptuję",
        "Ustawienia",
    ),
    "ru": (
        "Мы ценим вашу приватность",
        "Мы и наши партнёры храним информацию на устройстве, например файлы куки, для показа рекламы.",
        "Принять все",
        "Настройки",
    ),
    "ja": (
        "プライバシーを尊重します",
        "当社とパートナーは、クッキーなどの情報を端末に保存し、広告の表示や測定のために処理します。",
        "すべて同意",
        "設定",
    ),
    "tr": (
        "Gizliliğinize değer veriyoruz",
        "Biz ve iş ortaklarımız, çerezler gibi bilgileri bir cihazda saklıyor ve reklam için işliyoruz.",
        "Kabul et",
        "Ayarlar",
    ),
}
LAYERS = {
    "onetrust": '<div id="onetrust-consent-sdk"><div id="onetrust-banner-sdk" class="otFlat bottom">'
    "<h2>{0}</h2><div id=onetrust-policy-text>{1}</div><div><button>{2}</button><button>{3}</button></div></div></div>",
    "cookiebot": '<div id="CybotCookiebotDialog"><h2>{0}</h2><div>{1}</div><a href="#">{2}</a></div>',
    "didomi": '<div id="didomi-host"><div id="didomi-notice" class="didomi-regular-notice">'
    "<span>{1}</span><button>{2}</button><button>{3}</button></div></div>",
    "quantcast": '<div class="qc-cmp2-container"><div class="css-14ozx5e"><h2>{0}</h2><p>{1}</p>'
    "<button>{2}</button></div></div>",
    "sourcepoint": '<div id="sp_message_container_12"><div><p>{0}</p><p>{1}</p><button>{2}</button></div></div>',
    "usercentrics": '<div id="usercentrics-root"><div class="sc-bcz"><div>{0}</div><p>{1}</p><button>{2}</button></div></div>',
    "klaro": '<div id="klaro"><div class="cn-body"><p>{1}</p><p class="cn-ok"><a href="#">{3}</a></p></div></div>',
    "osano": '<div class="osano-cm-window"><div><span>{1}</span></div><div><button>{2}</button></div></div>',
    "insites": '<div class="cc-window cc-floating"><span>{1}</span><div><a class="cc-btn">{2}</a></div></div>',
    "cookieyes": '<div class="cky-box"><p>{0}</p><div><p>{1}</p></div><button>{2}</button></div>',
    "complianz": '<div class="cmplz-banner"><div>{0}</div><div><p>{1}</p></div><button>{2}</button></div>',
    "iubenda": '<div id="iubenda-cs-banner"><div>{0}</div><div>{1}</div><button>{2}</button></div>',
    "tarteaucitron": '<div id="tarteaucitronAlertBig"><span>{1}</span><button>{2}</button></div>',
    "role": '<div class="x1" role="alertdialog"><div><p>{1}</p><button>{2}</button></div></div>',
    "modal": '<div class="css-1" aria-modal="true"><div><h2>{0}</h2><p>{1}</p><button>{2}</button></div></div>',
    "fixed": '<div style="bottom: 0; position: fixed"><p>{1}</p><p><a href="#">{2}</a></p></div>',
    "no names": '<div class="css-1"><div class="css-9"><h2>{0}</h2><p>{1}</p><div><button>{2}</button>'
    "<button>{3}</button></div></div></div>",
    "no classes": "<div><h3>{0}</h3><p>{1}</p><button>{2}</button><button>{3}</button></div>",
}


def page(main: str, first: str = "", last: str = "", title: str = "The flood") -> str:
    return f"<title>{title} | Daily</title><body>{first}{MENU}<div id=c><h1>{title}</h1>{main}</div>{FOOT}{last}"


def story() -> str:
    return "".join(f"<p>{line}</p>" for line in STORY)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("lang", ASKING)
def test_what_asks_for_consent_is_no_text_in_any_language(layer: str, lang: str) -> None:
    markup = LAYERS[layer].format(*ASKING[lang])
    for made in (page(story(), first=markup), page(story(), last=markup)):
        text = extract(made).text
        assert not [line for line in ASKING[lang] if line in text]
        assert all(line in text for line in STORY)


@pytest.mark.parametrize(
    "markup",
    [
        "<p class=browserupgrade>{} <a href=/u>{}</a></p>",
        "<div class=browser-warning><p>{}</p><a href=/u>{}</a></div>",
        "<div id=outdated-browser><h6>{}</h6><p>{}</p></div>",
        "<div class='smart-app-banner'><p>{}</p><a href=/u>{}</a></div>",
        "<aside class='download-app promo'><p>{}</p><a href=/u>{}</a></aside>",
    ],
)
@pytest.mark.parametrize(
    "words",
    [
        ("You are using an outdated browser, and parts of this site may fail.", "Install our app"),
        ("Ваш браузер устарел, и части этого сайта могут не работать.", "Установите приложение"),
    ],
)
def test_notices_about_the_readers_program_are_no_text(markup: str, words: tuple[str, str]) -> None:
    text = extract(page(story(), first=f"<div>{markup.format(*words)}</div>")).text
    assert not [line for line in words if line in text]
    assert all(line in text for line in STORY)


ABOUT = (
    "<p>Cookies are small files that a site keeps in a browser. They were made in 1994, for a shop that "
    "had to remember what was in the basket.</p><p>In Europe a site has to ask before it stores such a file, "
    "which is why every visit begins with a banner and two buttons.</p>"
)


@pytest.mark.parametrize(
    "around",
    [
        "<article class='tag-cookies tag-browser tag-update'>{}</article>",
        "<main class='cookies privacy-notice'>{}</main>",
        "<div class=text>{}<button>Share</button><button>Print</button></div>",
        "<div class='cookie-text'>{}</div>",
    ],
)
def test_an_article_about_cookies_is_one(around: str) -> None:
    text = extract(page(around.format(ABOUT), title="What cookies are")).text
    assert "small files" in text
    assert "two buttons" in text


def test_a_baker_sells_cookies_with_buttons() -> None:
    goods = "".join(
        f"<div class=good><p>{n} cookies with butter, honey and nuts, baked this morning in our shop.</p>"
        "<button>Buy</button><button>Wish</button></div>"
        for n in ("Twelve", "Twenty")
    )
    assert "Twelve cookies" in extract(page(f"{story()}{goods}")).text
    one = "<div><p>A box of cookies, baked this morning.</p><button>Buy</button><button>Keep</button></div>"
    assert "box of" in extract(page(f"{ABOUT}{one}", title="What cookies are")).text


def test_a_conversation_called_a_dialog_is_text_and_a_dialog_with_buttons_is_none() -> None:
    lines = "".join(f"<p><b>Anna:</b> {line}</p><p><b>Ben:</b> {line[::-1]}</p>" for line in STORY)
    kept = extract(page(f"{story()}<div class=dialog>{lines}</div>")).text
    assert kept.count("Anna:") == 2
    asked = f"<div class=dialog><p>{ASKING['de'][1]}</p><button>Ja</button></div>"
    assert "Gerät" not in extract(page(story(), last=asked)).text


def test_names_of_makers_are_whole_words() -> None:
    def is_layer(name: str) -> bool:
        found = find_blocks(f"<div class='{name}'><p>a</p></div>".encode())
        return bool((found.elements[:, 2] & LAYER_BIT).any())

    assert is_layer("truste")
    assert is_layer("didomiHost")
    assert is_layer("qc-cmp2-ui")
    assert not any(map(is_layer, ("trusted-by", "cc-license", "cmp-text", "dialog", "app")))
