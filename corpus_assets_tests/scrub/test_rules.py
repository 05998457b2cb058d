"""Every rule: what it finds in several languages, and what looks like it and is left alone."""

import pytest
from phonenumbers import SUPPORTED_REGIONS, PhoneNumberFormat, example_number, format_number

from corpus_assets.scrub.find import RULES
from corpus_assets.scrub.settings import KINDS, ScrubSettings
from corpus_assets_tests.scrub.one_text import find_personal_data

ALL = ScrubSettings(replace=KINDS)


def found(text: str, kind: str, language: str | None = None) -> list[str]:
    findings = find_personal_data(text, ALL, language=language)
    return [text[f.start : f.end] for f in findings if f.kind == kind]


PHONES = [
    ("Call +1 (604) 696-5272 now.", "+1 (604) 696-5272"),
    ("Ring +44 (0)20 7946 0958 or write.", "+44 (0)20 7946 0958"),
    ("+447700900123", "+447700900123"),
    ("(+33 1 23 45 67 89)", "+33 1 23 45 67 89"),
    ("tel:+49-30-901820", "+49-30-901820"),
    ("Звоните +7 (495) 123-45-67.", "+7 (495) 123-45-67"),
    ("電話+81-3-1234-5678まで", "+81-3-1234-5678"),
    ("联系电话：+86 10 6552 9988", "+86 10 6552 9988"),
    ("اتصل على +971 4 123 4567", "+971 4 123 4567"),
    ("whois: +1.6502530000", "+1.6502530000"),
    ("Büro: 0049 30 901820", "0049 30 901820"),
    ("Fax 604-696-5272 x565 today", "604-696-5272 x565"),
    ("(212) 555-0199", "(212) 555-0199"),
    ("or 212.555.0199, any time", "212.555.0199"),
    ("1-800-555-0199", "1-800-555-0199"),
    ("Appelez le 01.84.17.61.18 !", "01.84.17.61.18"),
    ("au 06 12 34 56 78 le soir", "06 12 34 56 78"),
    ("London: 020 7946 0958", "020 7946 0958"),
    ("Praxis (030) 1234 5678", "(030) 1234 5678"),
    ("unter 0171/1234567 erreichbar", "0171/1234567"),
    ("Chiama lo 06 1234 5678", "06 1234 5678"),
    ("東京03-1234-5678です", "03-1234-5678"),
    ("010-1234-5678로 연락", "010-1234-5678"),
    ("Ligue (11) 91234-5678", "(11) 91234-5678"),
    ("8 (495) 123-45-67", "8 (495) 123-45-67"),
    ("手机 138 1234 5678", "138 1234 5678"),
    ("手机13812345678。", "13812345678"),
    ("Llámanos al 912 34 56 78", "912 34 56 78"),
    ("Teléfono: 655 437 108", "655 437 108"),
    ("Telefon: 737 219 628", "737 219 628"),
    ("My phone number is 99 668472", "99 668472"),
    ("тел. 123-45-67", "123-45-67"),
    ("फोन: 98765 43210", "98765 43210"),
    ("טלפון 03-1234567", "03-1234567"),
    ("โทร 02 123 4567", "02 123 4567"),
    ("Phone:\n467 3395\n", "467 3395"),
    ("Phone 467 3395, 467 3396", "467 3395"),
    ("هاتف: ٠٥٠ ١٢٣ ٤٥٦٧", "٠٥٠ ١٢٣ ٤٥٦٧"),
    ("اتصل على +٩٧١ ٤ ١٢٣ ٤٥٦٧ الآن", "+٩٧١ ٤ ١٢٣ ٤٥٦٧"),
    ("تلفن ۰۲۱-۸۸۷۷۶۶۵۵", "۰۲۱-۸۸۷۷۶۶۵۵"),
    ("फोन: ९८७६५ ४३२१०", "९८७६५ ४३२१०"),
    ("ফোন: ০১৭১২-৩৪৫৬৭৮", "০১৭১২-৩৪৫৬৭৮"),
    ("โทร ๐๒-๑๒๓-๔๕๖๗", "๐๒-๑๒๓-๔๕๖๗"),
    ("電話０３－１２３４－５６７８まで", "０３－１２３４－５６７８"),
    ("電話（０３）１２３４－５６７８", "（０３）１２３４－５６７８"),
    ("热线（010）65521234", "（010）65521234"),
    ("电话：010－65521234", "010－65521234"),
    ("电话: 022―23859575", "022―23859575"),
    ("Telefon: 08−789 50 00", "08−789 50 00"),
    ("nachts 089/2180-2412", "089/2180-2412"),
    ("Suscripciones +54 9 11 4556-9147/48 o", "+54 9 11 4556-9147/48"),
    ("Γραμμή ΑΙDS, Τηλεφωνική: 2107222222", "2107222222"),
    ("+81 158-23-2012", "+81 158-23-2012"),
    ("专线（0800-030598）", "0800-030598"),
]


@pytest.mark.parametrize(("text", "number"), PHONES)
def test_a_telephone_number_is_found(text: str, number: str) -> None:
    assert number in found(text, "phone")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("082 490 1693-Office", ["082 490 1693"]),
        ("020 7946 0958-Home, 020 7946 0959–Fax", ["020 7946 0958", "020 7946 0959"]),
        ("Kevin 618-226-1460-cell", ["618-226-1460"]),
        ("021-52921234转641133 021-52921234转", ["021-52921234转641133", "021-52921234"]),
        ("电话：021-52921234分机 12", ["021-52921234分机 12"]),
        ("電話 03-1234-5678（内線 321）", ["03-1234-5678（内線 321）"]),
        ("тел. 8 (495) 123-45-67 доб. 1234", ["8 (495) 123-45-67 доб. 1234"]),
        ("Tél. 01 84 17 61 18 poste 23", ["01 84 17 61 18 poste 23"]),
        ("Tel. 030 901820 DW 12", ["030 901820 DW 12"]),
        ("tel. 22 123 45 67 wew. 12", ["22 123 45 67 wew. 12"]),
        ("Tel: 0212 555 12 34 dahili 12", ["0212 555 12 34 dahili 12"]),
        ("Tel. 02 1234 5678 int. 12", ["02 1234 5678 int. 12"]),
        ("Phone 604-696-5272 Ext. 565", ["604-696-5272 Ext. 565"]),
        ("전화 02-123-4567 내선 12", ["02-123-4567 내선 12"]),
    ],
)
def test_extensions_and_labels_behind_a_number_belong_to_it(text: str, numbers: list[str]) -> None:
    assert found(text, "phone") == numbers
    rest = text
    for one in numbers:
        rest = rest.replace(one, "", 1)
    assert not any(char.isdigit() for char in rest)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("电话：021-56692669 13917985004 021-36070335 13701664517",
         ["021-56692669", "13917985004", "021-36070335"]),
        ("CEP 79020-250 - CAMPO GRANDE - MS (67) 3316-7200 Fone", ["(67) 3316-7200"]),
        ("тел. +7 (343) 379-00-33, ICQ: 435477375", ["+7 (343) 379-00-33"]),
        ("tel. 501 234 567, 502 345 678", ["501 234 567", "502 345 678"]),
        ("Mobil: 701 234 567 / 702 345 678", ["701 234 567", "702 345 678"]),
        ("zadzwoń 501 234 567 lub 502 345 678", ["501 234 567", "502 345 678"]),
        ("tel. 501 234 567, sprzedano 502 345 678", ["501 234 567"]),
    ],
)  # fmt: skip
def test_numbers_beside_each_other_are_told_apart(text: str, numbers: list[str]) -> None:
    assert found(text, "phone") == numbers


@pytest.mark.parametrize(
    "text",
    [
        "Call us: Box 2350, Seattle, WA 98195-2350", "Telefone, CEP: 78580-000, Alta Floresta",
        "Fone, cep 79020-250", "Soc. Lond. 46, 425-442 (2000)", "Contact, ICQ 435477375",
        "call QQ: 654731575", "tel 1 / 12 / 2020", "contact 2021 – 01 – 18", "phone © 2015 — 2024",
        "phones of ٢٠٢٠-٢٠٢١", "هاتف ١٢/٠١/٢٠٢٠", "ISBN ９７８－３－１６－１４８４１０－０", "1−2−3−4−5−6−7",
        "phone, Mo-Fr 8.30-12.30", "phone, 9.00 – 16.00", "ids 501-234-567", "01/02-2020", "0123/4567-8901-234",
    ],
)  # fmt: skip
def test_postal_codes_dates_pages_and_accounts_of_messengers_are_no_telephones(text: str) -> None:
    assert found(text, "phone") == []


@pytest.mark.parametrize(
    "text",
    [
        "201  464  1353", "512   768  1024", "201\t464\t1353", "+ 1.5380859375", "+ 44.2079460958",
        "a 201  464  1353 b\n  310  555  2368", "082 490 1693-Rev2", "618-226-1460-B",
    ],
)  # fmt: skip
def test_columns_of_numbers_and_decimals_are_no_telephones(text: str) -> None:
    assert found(text, "phone") == []


@pytest.mark.parametrize(
    "text",
    [
        "on 2024-01-15 at 12:30:45", "15.01.2024, 01/02/2024 10:00", "1999-2003 and 1990–1995",
        "20240115123045", "1,234,567 people and 1.234.567,89 EUR", "$1 000 000 or €2.500.000",
        "ISBN 978-3-16-148410-0", "ISBN 0-306-40615-2", "ISSN 0317-8471",
        "48.8583701, 2.2944813", "-33.856784, 151.215297", "+48.8583701 +2.2944813",
        "order 0123-456-789", "Bestellnummer 030 1234 5678", "invoice no. 212-555-0199",
        "3.14159265358979", "+3.14159265", "0.123456789", "pi+3141592653",
        "192.168.100.200", "v1.22.333.4444", "1234567890123456789",
        "https://example.org/view/212-555-0199/page", "05 12 23 34 45", "01 02 03 04 05 06 07",
        "0043 0063 0073 ; [.1FD7", "CVE-2021-44228", "RFC 2119, 8174 and 7231",
        "Nature (2019) 567 1234-1245", "+200 000 000 people", "12 345 678", "1 2 3 4 5 6 7 8 9",
        "call of duty sold 30 000 000", "Platz 1: 9876543 Punkte", "GTIN 04012345678901",
        "score 21-15 21-18 15-21", "build 10.0.19041.1288", "123 456 7890 234 567 8901",
        "2023-10-12 2023-11-15", "01/02/12 03/04/12 05/06", "Mon-Fri 0900-1700 0800-1200",
        "602 123 456 zł", "US 7,123,456 B2", "0110 1001 0110 1110", "lot 0412 345 678",
        "DE 10 2012 123 456", "n° de commande 06 12 34 56 78", "Kundennr. 030 1234 5678",
        "account number 618-226-1460", "EUR 0800 123 456", "0612 345678 90210 4471 0031",
        "bytes 300-400/1270", "driver 595.45.04 - 55", "use Text::Wrap 98.112902", "046-454-286",
        "phone sales reached 12 345 678", "smartphones 123 456 789", "recall 1234-5678",
    ],
)  # fmt: skip
def test_dates_prices_books_orders_and_coordinates_are_no_telephones(text: str) -> None:
    assert found(text, "phone") == []


@pytest.mark.parametrize(
    "words",
    ["Kevin", "Moving company", "Sean", "Serial Box Cafe:", "Partner", "Bean, Order & Sons", "To order:",
     "The Casement Club", "Orders are taken at", "Ocean View", "Vince", "Disco", "Codey"],
)  # fmt: skip
def test_words_inside_of_words_say_nothing(words: str) -> None:
    """Names that hold `vin`, `ean`, `part`, `serial`, `order` ... before a telephone number."""
    assert found(f"{words} 618-226-1460", "phone") == ["618-226-1460"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Sheffield 0114 273 4567", None), ("Servicetelefon 0800 3301000", None),
        ("Bestellhotline: 01805 12345678", None), ("Cabinet: 04 78 37 22 11", None),
        ("Fone: (21) 2345-6789", None), ("Ufficio 02 1234 5678", None),
        ("Hívjon: 06 1 234 5678", None), ("Sunați la 0722 123 456", None),
        ("Київ (044) 123-45-67", None), ("本社 06-6123-4567", None), ("Mobile no: 9876543210", None),
        ("الهاتف: 050 123 4567", None), ("SĐT: 0912 345 678", None), ("Hubungi 0812-3456-7890", None),
        ("Lagos 0803 123 4567", None), ("Sydney (02) 9876 5432", None), ("Ring 22 12 34 56", None),
        ("Stockholm 08-123 456 78", None), ("Zürich 044 123 45 67", None), ("Wien 01 12345678", None),
        ("NY 10001 618-226-1460", None), ("618\u2011226\u20111460", None), ("P: 555-0199", None),
        ("011 44 20 7946 0958", None), ("00 33 1 42 68 53 00", None), ("+91-98765-43210", None),
        ("numéro de portable : 0612345678", None), ("call me on 6182261460", None),
        ("Mario 347 123 4567", "it"), ("小王 138-1234-5678", "zho_Hans"), ("Ahmet 532 123 45 67", "tr"),
        ("Иван 8-916-123-45-67", "ru"), ("Приемная (38253) 2-14-05", "ru"), ("Rezerwacje 501-234-567", "pl"), ("Biuro 22 123 45 67", "pl"), ("María 912 34 56 78", "es"),
    ],
)  # fmt: skip
def test_numbers_of_other_countries_are_found_whole(text: str, language: str | None) -> None:
    (number,) = found(text, "phone", language)
    digits = "".join(c for c in text if c.isdigit()).removeprefix("10001")
    assert "".join(c for c in number if c.isdigit()) == digits


def test_forms_without_any_sign_are_those_of_the_language_and_of_the_recipe() -> None:
    text = "María 912 34 56 78"
    assert found(text, "phone") == []
    spain = ScrubSettings(phone_regions=("ES",))
    assert [f.kind for f in find_personal_data(text, spain)] == ["phone"]
    assert find_personal_data("Kevin 618-226-1460", spain) == []


@pytest.mark.parametrize("beside", ["jan@example.pl", "e-mail: jan@example.pl"])
def test_threes_are_a_telephone_as_a_line_beside_an_address(beside: str) -> None:
    for text in (f"Jan\n501 234 567\n{beside}", f"{beside}\n501 234 567\n"):
        assert found(text, "phone", language="pl") == ["501 234 567"]
        assert found(text, "phone") == []
    for other in (f"501 234 567 sold\n{beside}", f"000 234 567\n{beside}", "501 234 567\nJan"):
        assert found(other, "phone", language="pl") == []


def test_a_region_that_has_no_numbering_plan_is_refused() -> None:
    with pytest.raises(ValueError, match="phone_regions: 'Spain' is not a country"):
        ScrubSettings(phone_regions=("Spain",))


@pytest.mark.parametrize("region", sorted(SUPPORTED_REGIONS)[::7])
def test_examples_of_the_numbering_plans_are_found_with_a_plus_and_after_a_word(
    region: str,
) -> None:
    example = example_number(region)
    assert example is not None
    abroad = format_number(example, PhoneNumberFormat.INTERNATIONAL)
    assert found(f"Maria {abroad} there", "phone") == [abroad]
    national = format_number(example, PhoneNumberFormat.NATIONAL)
    if sum(map(str.isdigit, national)) >= 7:
        assert found(f"Phone: {national}", "phone")


@pytest.mark.parametrize(
    "number",
    [
        "4111 1111 1111 1111", "4012888888881881", "5555-5555-5555-4444", "2223003122003222",
        "378282246310005", "3782 822463 10005", "6011111111111117", "30569309025904",
        "3056 930902 5904", "3530111333300000", "6200000000000005", "6759649826438453",
    ],
)  # fmt: skip
def test_a_card_is_found(number: str) -> None:
    for text in (f"pay with {number}, please", f"カード番号は{number}です", f"карта: {number}"):
        assert found(text, "credit_card") == [number]


@pytest.mark.parametrize(
    "number", ["４１１１ １１１１ １１１１ １１１１", "٤١١١١١١١١١١١١١١١", "४१११-११११-११११-११११"]
)
def test_a_card_is_found_in_the_digits_of_any_script(number: str) -> None:
    assert found(f"pay with {number}, please", "credit_card") == [number]


def test_the_code_behind_a_card_stays_outside_of_it() -> None:
    assert found("4111 1111 1111 1111 123", "credit_card") == ["4111 1111 1111 1111"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("cc=4539-5712-3412-3455", "4539-5712-3412-3455"),
        ("number=4539571234123455&x=1", "4539571234123455"),
        ("card_number=4539571234123455", "4539571234123455"),
        ("cc 4047737215142", "4047737215142"),
        ("CC: 4047737215142", "4047737215142"),
    ],
)
def test_a_card_is_found_as_the_value_of_a_name(text: str, number: str) -> None:
    assert found(text, "credit_card") == [number]


@pytest.mark.parametrize(
    "text", ["id=4539571234123455", "?page=4539571234123455", "acc 4047737215142"]
)
def test_other_values_are_no_cards(text: str) -> None:
    assert found(text, "credit_card") == []


def test_short_numbers_are_cards_only_where_a_word_says_so() -> None:
    assert found("my card 4222222222222 is lost", "credit_card") == ["4222222222222"]
    assert found("article 4222222222222 is sold out", "credit_card") == []


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1112", "4111111111111111111111", "x4111111111111111", "4111111111111111x",
        "0.4111111111111111", "1111111111111117", "0000 0000 0000 0000", "4111 111 1111 11111",
        "https://example.org/p?id=4111111111111111", "ca-pub-4111111111111111", "20240115123045",
        "9780306406157", "4006381333931",
    ],
)  # fmt: skip
def test_what_fails_a_check_or_stands_in_a_longer_number_is_no_card(text: str) -> None:
    assert found(text, "credit_card") == []


@pytest.mark.parametrize(
    "account",
    [
        "GB29 NWBK 6016 1331 9268 19", "GB29NWBK60161331926819", "gb29nwbk60161331926819",
        "DE89 3704 0044 0532 0130 00", "FR14 2004 1010 0505 0001 3M02 606", "NL91ABNA0417164300",
        "ES91 2100 0418 4502 0005 1332", "NO93 8601 1117 947", "CH93 0076 2011 6238 5295 7",
        "PL61 1090 1014 0000 0712 1981 2874", "MT84MALT011000012345MTLCAST001S",
    ],
)  # fmt: skip
def test_a_bank_account_is_found(account: str) -> None:
    for text in (f"IBAN: {account}.", f"{account} IS MY ACCOUNT", f"账号{account}，谢谢"):
        assert found(text, "iban") == [account]


@pytest.mark.parametrize(
    "text",
    [
        "GB29NWBK60161331926818", "GB29NWBK6016133192681", "GB29NWBK601613319268190",
        "XX29NWBK60161331926819", "de89 3704 0044 0532 0130 00", "ab12cd34ef56ab12cd34",
        "sha DE893704004405320130001f",
    ],
)  # fmt: skip
def test_what_is_too_long_or_does_not_add_up_is_no_account(text: str) -> None:
    assert found(text, "iban") == []


@pytest.mark.parametrize(
    "text",
    [
        "Numer konta: {}", "na konto {} w banku", "Nr rachunku bankowego {}.", "NRB {}",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "account",
    [
        "61 1090 1014 0000 0712 1981 2874", "61109010140000071219812874",
        "27-1140-2004-0000-3002-0135-5387",
    ],
)  # fmt: skip
def test_a_polish_account_without_its_country_is_found_after_a_word(
    text: str, account: str
) -> None:
    assert found(text.format(account), "iban") == [account]


@pytest.mark.parametrize(
    "text",
    [
        "61 1090 1014 0000 0712 1981 2874", "konto 62 1090 1014 0000 0712 1981 2874",
        "konto 61 1090 1014 0000 0712 1981", "kontrola 61109010140000071219812874",
    ],
)  # fmt: skip
def test_other_numbers_of_that_length_are_no_accounts(text: str) -> None:
    assert found(text, "iban") == []


IDS = {
    "us_ssn": ("078-05-1120", ""), "us_ssn_plain": ("078 05 1120", "SSN "),
    "us_itin": ("912-90-3456", ""), "ca_sin": ("046 454 286", "Social insurance number "),
    "br_cpf": ("111.444.777-35", ""), "br_cpf_plain": ("11144477735", "CPF: "),
    "ar_cuit": ("20-12345678-6", ""), "cl_rut": ("12.345.678-5", ""),
    "cl_rut_plain": ("12345678-5", "RUT "), "fr_nir": ("2 55 08 14 168 025 38", ""),
    "es_dni": ("12345678Z", ""), "es_nie": ("X1234567L", ""),
    "de_tax_id": ("86 095 742 719", "Steuer-ID: "), "nl_bsn": ("111222333", "BSN "),
    "pl_pesel": ("44051401359", "PESEL "), "be_nrn": ("85.07.30-033.28", ""),
    "be_nrn_plain": ("85073003328", "Rijksregisternummer "), "se_pnr": ("640823-3234", ""),
    "no_fnr": ("150765 00565", ""), "fi_hetu": ("131052-308T", ""),
    "dk_cpr": ("211062-5629", "CPR-nummer "), "ch_ahv": ("756.9217.0769.85", ""),
    "ch_ahv_plain": ("7569217076985", "AHV-Nummer "), "cz_birth_number": ("710319/2745", ""),
    "ro_cnp": ("1630615123457", "CNP "), "bg_egn": ("7523169263", "ЕГН "),
    "hr_oib": ("33392005961", "OIB "), "tr_tckn": ("17291716060", "TC Kimlik No "),
    "ru_snils": ("112-233-445 95", ""), "ru_inn": ("500100732259", "ИНН "),
    "cn_resident_id": ("11010519491231002X", "身份证"), "kr_rrn": ("971013-9019902", ""),
    "jp_my_number": ("1234 5678 9018", "マイナンバー"), "in_aadhaar": ("2341 2341 2346", "आधार "),
    "za_id": ("7503305044089", "ID "), "il_id": ("039337423", "תעודת זהות "),
    "au_tfn": ("123 456 782", "TFN "), "pt_nif": ("501964843", "NIF "),
    "at_svnr": ("1237 010180", "SVNR "), "ie_pps": ("6433435F", "PPS number "),
    "passport": ("963545637", "Passport No. "), "gb_nino": ("AB 12 34 56 C", ""),
    "gb_nino_plain": ("AB123456C", "National Insurance number "),
    "it_fiscal_code": ("RCCMNL83S18D969H", ""), "in_pan": ("ACUPA7085R", "PAN "),
    "sg_nric": ("S1234567D", ""), "hk_id": ("G123456(A)", ""), "tw_id": ("A123456789", "身分證"),
    "gb_nhs": ("943 476 5919", "NHS number "), "mx_curp": ("BOXW310820HNERXN09", ""), "passport_mixed": ("C01X00T47", ""),
}  # fmt: skip
del IDS["passport_mixed"]


@pytest.mark.parametrize("name", IDS)
def test_a_national_id_is_found(name: str) -> None:
    number, word = IDS[name]
    for text in (f"{word}{number}, and so on", f"Nachweis: {word}{number}.", f"漢{word}{number}漢"):
        assert found(text, "national_id") == [number]


@pytest.mark.parametrize("name", IDS)
def test_a_national_id_with_another_digit_inside_a_word_or_without_its_word_is_left(
    name: str,
) -> None:
    number, word = IDS[name]
    assert found(f"{word}x{number}", "national_id") == []
    assert found(f"{word}{number}0", "national_id") == []
    if word and name != "cn_resident_id":
        assert found(f"serial {number} of the lot", "national_id") == []


@pytest.mark.parametrize(
    "name",
    sorted(set(IDS) - {"us_ssn", "us_ssn_plain", "us_itin", "dk_cpr", "passport", "in_pan",
                       "gb_nino", "gb_nino_plain"}),
)  # fmt: skip
def test_one_digit_changed_is_no_national_id(name: str) -> None:
    number, word = IDS[name]
    places = [k for k, char in enumerate(number) if char.isdigit()]
    at = places[-2]
    changed = number[:at] + str((int(number[at]) + 1) % 10) + number[at + 1 :]
    assert found(f"{word}{changed}, and so on", "national_id") == []


@pytest.mark.parametrize(
    "text",
    [
        "000-12-3456", "666-12-3456", "123-00-4567", "123-45-0000", "900-12-3456",
        "SSN 123456789012", "CAS 7732-18-5", "part 123-45-67890", "GB 12 34 56 C", "ZZ123456C",
    ],
)  # fmt: skip
def test_numbers_that_were_never_given_out_are_left_alone(text: str) -> None:
    assert found(text, "national_id") == []


KEYS = [
    "AKIAIOSFODNN7EXAMPLE", "ghp_" + "a1B2c3D4e" * 4, "gho_" + "a1B2c3D4e" * 4,
    "github_pat_" + "11ABCDEFG0_" * 6, "glpat-" + "aB3dE6gH9jK2mN5pQ8sT",
    "xoxb-" + "123456789012-1234567890123-abcDEF", "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q"[:35],
    "sk_" + "live_a1B2c3D4e5F6g7H8", "rk_" + "live_a1B2c3D4e5F6g7H8", "hf_" + "aBcDeFgHiJ" * 3 + "kLmN",
    "npm_" + "a1B2c3D4e" * 4, "SG." + "a1B2c3D4e5F" * 2 + "." + "a1B2c3D4e5F" * 3 + "a1B2c3D4e5",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "sk-" + "proj-aB3dE6gH9jK2mN5pQ8sTaB3dE6gH9jK2", "sk-" + "ant-api03-aB3dE6gH9jK2mN5pQ8sTaB3dE6",
    "123456789:AA" + "Hk3_dE6gH9jK2mN5pQ8sTaB3dE6gH9jK2", "dop_v1_" + "0123456789abcdef" * 4,
    "shpat_" + "0123456789abcdef" * 2, "whsec_" + "a1B2c3D4e5F6g7H8i9J0k1L2",
    "GOCSPX-" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4", "ya29." + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5",
    "pypi-AgE" + "IcHlwaS5vcmcCJDU" * 4, "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQ" * 2,
]  # fmt: skip
KEYS[-1] = KEYS[-1][: 16 + 58]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key[:8])
def test_a_key_of_a_service_is_found(key: str) -> None:
    for text in (f'token = "{key}"', f"curl -H Bearer:{key} x", f"钥匙{key}。"):
        assert found(text, "api_key") == [key]


def test_a_cloud_secret_is_found_by_its_name() -> None:
    secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    for text in (f"aws_secret_access_key = {secret}", f'"SecretKey": "{secret}"'):
        assert found(text, "api_key") == [secret]
    assert found(f"digest = {secret}", "api_key") == []


@pytest.mark.parametrize(
    "text",
    [
        "AKIA", "AKIAIOSFODNN7EXAMPL", "AKIAIOSFODNN7EXAMPLEX", "xAKIAIOSFODNN7EXAMPLE",
        "ghp_short", "class sk-spinner-double-bounce-fading-circle-nine-ten", "eyJhbGciOiJIUzI1NiJ9",
        "eyJ.eyJ.x", "AIza-something", "sk-learn and sk-image", "hf_hub_download(repo_id)", "xoxo",
    ],
)  # fmt: skip
def test_what_only_begins_like_a_key_is_left_alone(text: str) -> None:
    assert found(text, "api_key") == []


@pytest.mark.parametrize("label", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
def test_a_private_key_goes_from_begin_to_end(label: str) -> None:
    body = "MIIEpAIBAAKCAQEAwJalrXUtnFEMI\n" * 5
    key = f"-----BEGIN {label}PRIVATE KEY-----\n{body}-----END {label}PRIVATE KEY-----"
    assert found(f"# key\n{key}\nrest", "private_key") == [key]
    escaped = key.replace("\n", "\\n")
    assert found(f'"key": "{escaped}",', "private_key") == [escaped]


def test_a_private_key_without_its_end_goes_as_far_as_its_lines() -> None:
    head = "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEAwJal\nrXUtnFEMIK7MDENGbPxR\n"
    assert found(head + "And then a sentence.", "private_key") == [head]


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0B\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\nMIIBIjANBgkqhkiG9w0B\n-----END CERTIFICATE-----",
        "the header is -----BEGIN PRIVATE KEY----- and nothing follows",
        "-----BEGIN",
    ],
)
def test_what_is_public_or_only_named_is_no_private_key(text: str) -> None:
    assert found(text, "private_key") == []


@pytest.mark.parametrize(
    "text",
    [
        "password = 'Xk29fLq0Zr81mNpT'", 'api_key: "Xk29fLq0Zr81mNpT"', "TOKEN=Xk29fLq0Zr81mNpT",
        "client_secret => 'Xk29fLq0Zr81mNpT'",
    ],
)  # fmt: skip
def test_an_assigned_secret_is_found_where_it_is_asked_for(text: str) -> None:
    assert found(text, "secret") == ["Xk29fLq0Zr81mNpT"]
    assert find_personal_data(text, ScrubSettings()) == []


@pytest.mark.parametrize(
    "text",
    [
        "password = input('Your password please: ')", "token: the_name_of_some_thing",
        "digest = Xk29fLq0Zr81mNpT", "key = short1A", "secret = 1234567890123456",
    ],
)  # fmt: skip
def test_what_does_not_look_random_is_no_secret(text: str) -> None:
    assert found(text, "secret") == []


@pytest.mark.parametrize(
    "text",
    [
        "logo@2x.png and icon@3x.webp", "git@github.com:user/repo.git", "y = x@weights.mean()",
        "lodash@4.17.21", "@decorator.setter", "style@media.css",
    ],
)  # fmt: skip
def test_what_programs_write_with_an_at_sign_is_no_address(text: str) -> None:
    assert found(text, "email") == []


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Write to jane (at) widgets (dot) org today", "jane (at) widgets (dot) org"),
        ("jane.doe[at]mail.widgets[dot]co[dot]uk", "jane.doe[at]mail.widgets[dot]co[dot]uk"),
        ("jane(at)widgets.org.", "jane(at)widgets.org"),
        ("jane {AT} widgets {DOT} org", "jane {AT} widgets {DOT} org"),
        ("jane ( at ) widgets ( dot ) org", "jane ( at ) widgets ( dot ) org"),
        ("info(arroba)empresa(punto)es", "info(arroba)empresa(punto)es"),
        ("Jane <at> widgets <dot> org>", "Jane <at> widgets <dot> org"),
        ("by jane AT widgets DOT org.", "jane AT widgets DOT org"),
        ("jane DOT doe AT mail DOT widgets DOT org", "jane DOT doe AT mail DOT widgets DOT org"),
        ("(jane-AT-widgets-DOT-org)", "jane-AT-widgets-DOT-org"),
        ("E-mail: jane at widgets.org.", "jane at widgets.org"),
        ("My email address is jane at mail.widgets.org", "jane at mail.widgets.org"),
        ("mail jane.doe at widgets.org", "jane.doe at widgets.org"),
        ("Email jane at widgets dot co dot uk", "jane at widgets dot co dot uk"),
    ],
)
def test_addresses_that_are_spelled_out_in_brackets_are_found(text: str, address: str) -> None:
    assert found(text, "email") == [address]


@pytest.mark.parametrize(
    "text",
    [
        "look at widgets dot org", "meet (at) noon", "the price (at) 5. Then", "we are (at) home.",
        "(at) widgets.org", "look (at)", "f(at)", "sit (at) the table", "look at the dot",
        "look at the dot org", "WRITE TO JANE AT WIDGETS DOT ORG", "look AT widgets.org",
        "AT widgets DOT org", "meet AT noon DOT", "jane AT-widgets DOT org", "x <at> the table",
        "jane -AT widgets DOT org", "write to jane at widgets.org", "Email us at widgets.org", "email: us at widgets.org",
        "the email newsletter at widgets.org", "my email is lost at widgets.org", "webmail: jane at noon",
    ],
)  # fmt: skip
def test_at_alone_spells_no_address(text: str) -> None:
    assert found(text, "email") == []


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("an müller@bücher.example schreiben", "müller@bücher.example"),
        ("пишите: иван@почта.рф", "иван@почта.рф"),
        ("a@b.xn--p1ai", "a@b.xn--p1ai"),
        ("...jane@example.org", "jane@example.org"),
        ("@user@mastodon.example", "user@mastodon.example"),
    ],
)
def test_addresses_of_other_alphabets_are_found_whole(text: str, address: str) -> None:
    assert found(text, "email") == [address]


@pytest.mark.parametrize(
    "text",
    [
        "ECMA-262, Edition 5, 15.4.4.18", "Chrome/38.0.0.1", "section 17.13.4.2", "§ 1.2.3.4",
        "версия 10.2.30.41", "版本 93.184.216.34", "versión 93.184.216.34", "2.0.0.0",
        "rev. 93.184.216.34", "100.64.0.1 and 198.18.0.1", "2002:808:808::1 and 3fff::1",
    ],
)  # fmt: skip
def test_sections_and_versions_are_no_addresses(text: str) -> None:
    assert found(text, "ip") == []


@pytest.mark.parametrize(
    "text",
    [
        "7.3.44.1. Summary\n\nThe server answers.\n7.3.44.2. Parameters",
        "## 7.3.44.1. Summary", "4.5.1.1. DNS servers", "* 13.3.2.2. Find and Edit",
        "8.2.14.17. server statement", "8.2.14.17 | server | its name",
        "24.3.44.1 Configuring the host", "24.3.44.1 Überblick", "24.3.44.\u00a0Rest\n24.3.44.9.",
        "Contents\n24.3.44.1. Address\n24.3.44.2. Host\n\nThe host is told in 24.3.44.2 and there.",
        "24.3.44. Hosts\nAs the address of 24.3.44.7 says",
        "Comeau C++ 4.2.45.2", "as of 1.0.48.21", "since 45.0.48.21", "until 1.7.99.23 of it",
        "fixed in 24.7.99.23", "upgrade to 31.7.99.23", "requests==22.31.0.41", "foo>=41.2.3.44",
        "groonga-21.7.99.23", "93.184.216.34-beta", "tool 93.184.216.34.tar.gz",
        "([12.2.6.9](https://262.ecma-international.org/#a))", "ssh (见 第 9.2.1.4 节)",
        "94.2.0.192.in-addr.arpa", "34.216.184.93.in-addr.arpa.", "dns 1.2.3.7.a.b.c.d.ip6.arpa",
        "fixed in 3.12.130.41 (May)", "upgrading to 93.184.216.34", "The version is 93.184.216.34.",
        "introduced in 112.0.215.49", "nginx 1.2.130.41", "Server: nginx/1.2.130.41", "Flash Player 11.2.202.235 and",
        "the driver 31.0.101.52 for",
    ],
)  # fmt: skip
def test_numbers_of_sections_versions_and_reverse_zones_are_no_addresses(text: str) -> None:
    assert found(text, "ip") == []


@pytest.mark.parametrize(
    "text",
    [
        "8.8.8.8 and 8.8.4.4", "dns 1.1.1.1", "ping 1.2.3.4", "server 4.3.2.1:80", "host 5.5.5.5",
        "127.0.0.1:80 0.0.0.0:80 10.1.2.3 172.16.3.4 192.168.3.4 169.254.9.9 100.64.9.9",
        "192.0.2.1 198.51.100.7 203.0.113.9 224.0.0.251 255.255.255.255",
        "2001:4860:4860::8888 2606:4700:4700::1111 2001:db8::1", "ip 123.123.123.123, 101.102.103.104:80",
        "a.root-servers.net | 198.41.0.4, 2001:503:ba3e::2:30 | VeriSign, Inc.",
        "M.ROOT-SERVERS.NET.      3600000      AAAA  2001:dc3::35", "AS112: 192.175.48.1 2620:4f:8000::1",
    ],
)  # fmt: skip
def test_addresses_that_identify_nobody_stay(text: str) -> None:
    assert found(text, "ip") == []


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ('93.184.216.34 - - [10/Oct/2024:13:55:36] "GET / HTTP/1.1" 200', "93.184.216.34"),
        ('12.30.44.18 - jane [10/Oct/2024:13:55:36] "GET / HTTP/1.1" 200', "12.30.44.18"),
        ("Received: from mail (mail [45.33.32.15]) by mx", "45.33.32.15"),
        ("from [12.30.44.18] by mx", "12.30.44.18"),
        ("X-Forwarded-For: 12.30.44.18", "12.30.44.18"),
        ("    inet 13.30.44.18/24 brd", "13.30.44.18"),
        ("listen 18.30.44.18:443;", "18.30.44.18"),
        ("nameserver 12.30.44.18", "12.30.44.18"),
        ("ip.addr == 93.184.216.34", "93.184.216.34"),
        ("<td>45.33.32.15</td>", "45.33.32.15"),
        ("> 45.33.32.15 was banned", "45.33.32.15"),
        ("45.33.32.15\n45.33.32.16\n45.33.32.17\n", "45.33.32.16"),
        ("He wrote from 45.33.32.15, then left.", "45.33.32.15"),
        ("The address is 45.33.32.15. Please call.", "45.33.32.15"),
        ("since 93.184.216.34 was blocked", "93.184.216.34"),
        ("45.33.32.15 example.org www", "45.33.32.15"),
        ("a connection from 85.214.132.117 port 22", "85.214.132.117"),
        ("logged in at ten with 85.214.132.117", "85.214.132.117"),
        ("the mail server was moved to 85.214.132.117", "85.214.132.117"),
        ("the record was updated to 85.214.132.117", "85.214.132.117"),
        ("85.214.132.117.static.example.net", "85.214.132.117"),
        ("the server is at 198.41.0.4, which", "198.41.0.4"),
        ("x.root-servers.net 85.214.132.117", "85.214.132.117"),
        ("see a.root-servers.net\n85.214.132.117", "85.214.132.117"),
        ("адрес 45.33.32.15", "45.33.32.15"),
        ("ssh root@12.30.44.18", "12.30.44.18"),
        ("http://12.30.44.18/admin", "12.30.44.18"),
        ("nginx 45.33.32.15:8080", "45.33.32.15"),
        ("nginx: 45.33.32.15", "45.33.32.15"),
        ("Googlebot 45.33.32.15", "45.33.32.15"),
    ],
)
def test_addresses_of_logs_settings_headers_and_prose_are_found(text: str, address: str) -> None:
    assert address in found(text, "ip")


@pytest.mark.parametrize("text", ["server 12.30.4.18", "12.30.4.18:8080", "ping 12.30.4.18"])
def test_four_small_numbers_are_an_address_where_the_text_says_so(text: str) -> None:
    assert found(text, "ip") == ["12.30.4.18"]


def test_every_rule_has_a_kind_that_a_recipe_knows() -> None:
    assert {rule.kind for rule in RULES} == set(KINDS)
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert {rule.name for rule in RULES if rule.kind == "national_id"} == {*IDS, "passport_mixed"}


def test_a_stronger_kind_wins_where_two_overlap() -> None:
    assert [f.kind for f in find_personal_data("card 4111 1111 1111 1111", ALL)] == ["credit_card"]
    assert [f.kind for f in find_personal_data("Tel. 078-05-1120", ALL)] == ["national_id"]
