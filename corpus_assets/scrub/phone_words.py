"""Words beside numbers: those for telephone, in many languages, and those for something else.

Words are compared whole, or by their beginning where a language inflects or compounds them; only
scripts that do not set words apart are searched. What is listed is what labels and sentences of a
language call a telephone; it follows dictionaries and no data set.
"""

import re

from corpus_assets.scrub.rule import LETTER, Span

_BEFORE, CHARS_AFTER = 72, 24  # bytes that are looked at
_MAX_GAP = 28  # characters between a word and its number


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORDS = _words(
    """
    tel tels tele telno telnr phone phones phoning ph mobile mob cell cells cellphone cellular call
    calling dial dialing dialling ring sms fax faxes facsimile pager whatsapp wa
    viber wechat hotline helpline landline voicemail answering contact
    fon handy handynummer handynr mobil mobilnummer mobilnr mobilfunk rufnummer rufnr durchwahl
    anruf anrufen anruft ruf rufen festnetz erreichbar erreichen
    tél portable appelez appeler appelle appelons joindre joignable contacter contactez gsm télécopie
    tfno tlfno telf tlfn móvil movil celular cel llame llamen llama llamar llamada llámenos llámanos
    llámame llamenos llamanos llamame contacto contactar
    telemóvel telemovel ligue ligar liguem fone contato
    cellulare chiama chiamare chiamate chiami chiamami chiamaci contatto contattare contattate
    mobiel bel bellen belt
    tlf tfn mobilnr ringe ringa kontakt
    puh soita soittakaa gsm matkapuhelin
    kom komórka komórkowy zadzwoń zadzwonić dzwoń dzwonić infolinia infolinii kontaktowy kontaktowe
    infolinka infolinku infolince kontaktní volejte zavolejte volajte zavolajte volat zavolat
    hívjon hívja hívjanak hívható
    sunați sunaţi sunati suna apelați apelati
    cep faks arayın arayınız arayin
    nazovite pozovite zovite pokličite
    helista helistage tālr tālrunis zvaniet skambinkite skambinti
    telp telpon telepon hp hubungi
    thoại sđt đt gọi
    simu piga tawag tawagan
    τηλ τηλέφωνο τηλέφωνα τηλεφωνήστε κινητό κιν φαξ καλέστε
    тел моб сот факс звоните звонить позвоните позвонить звони дзвоніть зателефонуйте телефонуйте
    вайбер ватсап вотсап обадете позовите назовите контакт контакты контакти
    հեռ հեռախոս ტელ
    """
)
_STEMS = (
    "telef", "teléf", "tèlef", "teleph", "téléph", "telefoon", "telekopi", "faxn", "whatsapp",
    "puhel", "komórk", "мобил", "мобіл", "телеф", "сотов", "τηλέφ", "τηλεφ", "ტელეფ", "հեռախ",
)  # fmt: skip
_ENDINGS = ("telefon", "telefoon", "hotline", "helpline", "puhelin")
_IN_TEXT = re.compile(
    r"\breach (?:me|us|him|her|them)\b|\b(?:my|your|his|her|our|their) number\b|\bmi número\b"
    r"|\bna (?:telefonní(?:m|ch) )?čísl(?:e|ech)\b"
    r"|\bmon numéro\b|\bmeine nummer\b|\bmio numero\b|\bmeu número\b|\bmijn nummer\b|\bмой номер\b|"
    "電話|电话|手機|手机|傳真|传真|携帯|热线|熱線|联系方式|聯絡|致电|致電|拨打|撥打|微信|ファックス|お問い合わせ"
    "|전화|휴대폰|핸드폰|팩스|연락처|문의"
    "|هاتف|تلفون|جوال|موبايل|فاكس|واتساب|اتصل|اتصال|تواصل|تلفن|موبایل|تماس|فون|موبائل"
    "|फोन|फ़ोन|मोबाइल|दूरभाष|संपर्क|सम्पर्क|कॉल|টেলিফোন|ফোন|মোবাইল|தொலைபேசி|மொபைல்|ఫోన్|మొబైల్|ഫോൺ|ಫೋನ್|ફોન|ਫੋਨ"
    "|טלפון|נייד|פקס|וואטסאפ|טל'|โทร|มือถือ|ໂທ|ទូរស័ព្ទ|ဖုန်း|ስልክ"
)  # fmt: skip
LABELS = _words(
    """
    office desk home work main direct reception switchboard emergency secretary büro privat zentrale
    dienstlich bureau domicile standard accueil oficina casa fijo ufficio kantoor thuis kontor biuro
    t p m f c h w o
    """
)
"""Words that are telephones only as the label of a number: `Desk: ...`, `... office`."""

_OTHERS = _words(
    """
    isbn issn ean gtin upc asin doi pmid arxiv orcid oclc lccn cas order invoice serial serie sku vin
    part patent account acct iban swift bic licence license policy passport model ref reference case
    docket tracking item lot batch article zip code version ver edition build
    postcode pincode plz psč индекс індекс icq qq zoom imei
    usd eur gbp chf jpy cny inr rub brl cad aud
    bestell rechnung rechnungs artikel auftrag auftrags kunden hrb ust steuer konto commande facture
    dossier siret siren tva rcs compte pedido factura expediente cuenta nif cif cnpj cpf rut ordine
    fattura ordernr zamówienie zamówienia faktura faktury regon krs sipariş fatura
    заказ заказа артикул счет счёт инн огрн кпп бик рейс договор
    """
)
"""What else numbers are, where the word stands directly before them."""

_TOKEN = re.compile(r"[^\W\d_]+")
_NUMBER_WORD = r"no|nos|nr|num|number|numbers|nummer|numer|numéro|numero|número|номер|số"
_SHORT_WORDS = rf"\W*(?:(?:[^\W\d]{{1,3}}|{_NUMBER_WORD})\W+){{0,3}}"
_NARROW_GAP = re.compile(rf"{_SHORT_WORDS}\Z")
_SERIES_GAP = re.compile(
    rf"{_SHORT_WORDS}"
    r"(?:\+?[0-9][0-9 ]{7,15}[0-9] ?(?:[,;/|]|lub|albo|oraz|nebo|alebo|or|oder|i|a|y|e) ?){1,3}\Z"
)
"""With numbers of the same row between."""
_WIDE_GAP = re.compile(
    rf"[^0-9\n]{{0,{_MAX_GAP}}}(?:\+?[0-9][0-9 ().\-/+]{{6,24}}[^0-9\n]{{1,8}})?\Z"
    r"|[.:]?[ \t]{0,2}\r?\n[ \t]{0,4}\Z"
)
_LABEL_GAP = re.compile(r"[ \t]?[:：][ \t]{0,4}\Z")
_WORDS_BEHIND = re.compile(r"[ \t]{0,2}[(,\-–]?[ \t]?([^\W\d]+)\.?\)?[ \t]{0,2}(?=[\r\n,;.)]|\Z)")
_CALLED = re.compile(
    rf"(?<!\w)(to )?([^\W\d_]+)[\s.:#°º№(-]*(?:(?:{_NUMBER_WORD}|n|id)\b[\s.:#°º№(-]*){{0,2}}\Z"
)
_OTHER_NUMBER = re.compile(r"\w+(?:nummer|nummern|nr|number)")


def has_phone_word(doc: bytes, span: Span, is_bare: bool, *, in_series: bool = False) -> bool:
    """Whether a word for telephone stands before the number or right behind it.

    A bare number (thousands, or few digits in one group) needs the word right before it, with
    nothing but short words between; `in_series`, also numbers with nothing but a comma, a slash or a
    short word behind them.
    """
    start, end = span
    if not LETTER.search(doc, max(0, start - _BEFORE), end + CHARS_AFTER):
        return False
    before = doc[max(0, start - _BEFORE) : start].decode("utf-8", "ignore").lower()
    gap = _NARROW_GAP if is_bare else _WIDE_GAP
    for token in _TOKEN.finditer(before):
        word = token.group()
        if is_phone_word(word) and (
            gap.match(before, token.end()) or (in_series and _SERIES_GAP.match(before, token.end()))
        ):
            return True
        if word in LABELS and not is_bare and _LABEL_GAP.match(before, token.end()):
            return True
    for found in _IN_TEXT.finditer(before):
        if gap.match(before, found.end()):
            return True
    behind = _WORDS_BEHIND.match(doc[end : end + CHARS_AFTER].decode("utf-8", "ignore").lower())
    if behind is None:
        return False
    word = behind.group(1)
    return is_phone_word(word) or (len(word) > 1 and word in LABELS)


def calls_it_otherwise(doc: bytes, start: int) -> bool:
    """Whether the word directly before a number says that it is something else."""
    before = doc[max(0, start - 40) : start].decode("utf-8", "ignore").lower()
    called = _CALLED.search(before)
    if called is None:
        return False
    verb, word = called.groups()
    if verb or is_phone_word(word):  # "to order", "Telefonnummer"
        return False
    return word in _OTHERS or _OTHER_NUMBER.fullmatch(word) is not None


def is_phone_word(word: str) -> bool:
    return word in _WORDS or word.startswith(_STEMS) or word.endswith(_ENDINGS)
