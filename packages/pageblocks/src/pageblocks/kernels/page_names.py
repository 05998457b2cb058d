"""What a page's names mean: its elements, the words of its classes, and its entities, as tables."""

import functools
from html.entities import html5
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pageblocks.kernels.markup import RAW_ELEMENTS, name_hash
from textkernels.byte_search import byte_kernel

Words = npt.NDArray[np.uint64]


def names_in(text: str) -> tuple[str, ...]:
    """Names given with spaces between them."""
    return tuple(text.split())


BREAKING = names_in(
    "html head body div section article aside nav header footer main p h1 h2 h3 h4 h5 h6 ul "
    "ol li dl dt dd table caption thead tbody tfoot tr td th pre blockquote figure figcaption "
    "form fieldset legend button label address center details summary dialog menu hgroup "
    "search noframes option picture noscript custom"
)
"""Elements that end a block and are kept in the tree; `custom` stands for any with a dash."""
TAGS = {name: number for number, name in enumerate(BREAKING, 1)}

VOID = names_in(
    "area base basefont bgsound col embed frame img input isindex keygen link meta param "
    "source track wbr"
)
LEFT_OUT = names_in("svg template select object audio video canvas datalist map")

(
    IS_INLINE, IS_BREAKING, IS_VOID, IS_LEFT_OUT, IS_RAW, IS_BR, IS_A, IS_MATH, IS_HR, IS_SPAN,
    IS_QUOTE, IS_SUP,
) = range(12)  # fmt: skip
_SLOTS = 2048

VOCABULARY = {
    "navigation": "nav* menu* breadcrumb* crumb* topnav sidenav subnav leftnav tabs tab toolbar sitemap directory",
    "footer": "foot* contentinfo copyright* colophon legal disclaimer* bottom imprint",
    "header": "header* masthead* topbar hero branding logo* toplinks banner",
    "sidebar": "sidebar* side aside* rail widget* complementary secondary tertiary column2 sidecol",
    "comment": "comment* disqus* respond* livefyre commenter",
    "share": "share* sharing social* follow twitter facebook pinterest whatsapp addtoany addthis",
    "related": "relat* recommend* similar popular trending latest recirc* outbrain taboola readmore more "
    "seealso also upsell crosssell youmaylike suggest* mostread most",
    "advert": "ad ads adv advert* sponsor* promo* dfp adsense newsletter* subscri* signup cta donat* banner "
    "campaign marketing offer paywall",
    "overlay": "cookie* consent* gdpr modal* popup* overlay* lightbox dialog toast notice alert* tooltip",
    "meta": "meta* byline* author* date* time timestamp tag tags tagged categor* published posted info credit* "
    "dateline bio",
    "article": "article* entry* story* blog* essay hentry news",
    "post": "post postbody postcontent posting message* thread* topic* forum* answer* question* reply replies qa faq* "
    "discussion* bbp*",
    "content": "content* body text* copy rte prose markdown richtext rich paragraph* maintext read wysiwyg "
    "documentwrapper bodywrapper",
    "main": "main* primary center middle",
    "title": "title* head headline* heading* subtitle* subhead* lead* lede intro* summary excerpt* dek standfirst "
    "abstract teaser*",
    "product": "product* price* description* desc spec* detail* feature* review* rating* sku cart shop* basket "
    "variant* stock buy",
    "listing": "list* item* card* grid* tile* result* row catalog* archive* feed* index collection* carousel* "
    "slider* slide* swiper",
    "hidden": "hidden* invisible sr screenreader screen visually offscreen none collapse* noprint print assistive",
    "form": "form* search* login* signin register* input* button* btn* field* filter* sort* dropdown*",
    "media": "caption* figure* fig gallery* image* img photo* video* media* embed embeds player* thumb* picture* audio*",
    "paging": "pag* pager* next prev previous pagination* paginate*",
    "contents": "toc contents tableofcontents jump skip anchor permalink headerlink edit editsection",
    "code": "code* highlight* syntax* source* snippet* literal* example* listing",
    "table": "infobox* table* data* stats* box",
    "user": "user* profile* avatar* member* signature sig rank karma vote* score* points",
}  # fmt: skip
"""Hints and the words of class, id, role and itemprop that give them; `*` takes any ending.

Words are told apart at whatever is no letter and at capitals, so `articleBody` is two.
"""
HINTS = {name: number for number, name in enumerate(VOCABULARY)}

OTHER_LANGUAGES = {
    "navigation": "nawig* brotkrum* ariane migas migalha* briciol* okruszk* drobeckov*",
    "footer": "fussbereich* fussleiste* fusszeile* stopk* rodape* pied piede piepagina* paticka* sidfot* "
    "sidefod* bunntekst* voettekst* lablec* podval* impressum",
    "header": "kopf* entete* bandeau* cabecera* cabecalho* testata* hlavick* sidhuvud* shapk*",
    "sidebar": "seitenleiste* randspalte* lateral* boczn* zijbalk* zijkolom*",
    "comment": "komment* koment* coment* reactie* yorum* hozzaszol* sxolia scholia pinglun* liuyan* binhluan*",
    "share": "teilen partag* compartir compartil* condivid* udostepn* podziel* delen podelit* paylas* sdilet* "
    "fenxiang* bagikan",
    "related": "aehnlich* ahnlich* verwandt* meistgelesen* similaire* connexe* relacionad* correlati correlate "
    "podobn* powiazan* polecan* gerelateerd* souvisejic* pohozh* benzer* ilgili terkait xiangguan* tuijian* remen "
    "populaire* populares popolari popularn* populyarn*",
    "advert": "reklam* werb* anzeige publicit* publicid* pubblicit* annons* hirdet* mainos* guanggao* iklan* quangcao* "
    "diafimis* ogloszen* abonn* suscri* assine assinatura* iscriv* prenumer* podpisk* boletin* bulten*",
    "overlay": "einwillig* ciasteczk*",
    "meta": "autor autora autores autorin autore autorzy auteur* avtor* verfasser* redakteur* datum* fecha* tarih* "
    "tanggal* rubrik* kategori* schlagwort* etiquetas etiquettes tagi zrodlo fuente* quelle* zuozhe* laiyuan*",
    "article": "artikel* artykul* articul* artigo* articolo* clanek* clanok* cikk* haber noticia notizia nyhet uutinen "
    "nachricht statya* statja* wenzhang* berita baiviet* arthro*",
    "post": "beitrag* antwort* frage* reponse* respuesta* pregunta* resposta* pergunta* rispost* domand* odpowied* "
    "pytani* wpis* watek watki vraag* antwoord* otvet* vopros* soobshen* soobschen* mensaje* mensage* "
    "messaggi* vlakno* prispev* cevap* soru konu huifu* tiezi",
    "content": "inhalt* contenu* contenid* conteud* inhoud* innehall* indhold* innhold* sisalto* tartalom* tresc* "
    "obsah* soderzh* kontent* icerik* neirong* zhengwen* noidung* periexomen* tekst* testo cuerpo* corpo corps",
    "main": "haupt* principal* glown* hlavni hoofd* osnovn* centre centro",
    "title": "titel* titre* titul* titolo* tytul* nadpis* zagolov* baslik* biaoti* judul* ueberschrift* uberschrift* "
    "vorspann* chapeau* chapo entradilla* zajawk* anons zhaiyao*",
    "product": "produkt* produit* prodott* preis* prix precio* preco* prezz* cena ceny fiyat* beschreib* descripc* "
    "descric* descriz* opis* popis* omschrijv* aciklama* bewertung* avis resena* avaliac* recension* warenkorb* "
    "panier* carrito* carrinho* carrello* koszyk* winkelwagen* korzin* sepet* kosik* shangpin* jiage*",
    "listing": "ergebnis* risultat* wynik* vysledk* karussell*",
    "hidden": "versteckt* ukryt* oculto* nascost* skryt*",
    "form": "suche* recherche* buscar buscador* ricerca* szukaj* wyszukiw* zoek* hledat* hledan* kereses* poisk* "
    "sousuo* anmeld* connexion* inscription* registr* logowan* zaloguj* boton* botao* bouton* przycisk*",
    "media": "bild* foto* zdjeci* immagin* afbeelding* obraz* kuva* resim resimler* kartink* tupian* gambar* "
    "hinhanh* galeri* galleri* legende* didascali*",
    "paging": "siguiente* suivant* nastepn* poprzedn* volgende* vorige*",
    "contents": "inhaltsverzeichnis sommaire* sumario* indice",
    "user": "benutzer* nutzer* mitglied* utilisateur* membre* usuari* miembro* utente* uzytkownik* gebruiker* "
    "uzivatel* polzovatel* kullanici* yonghu* pengguna*",
}  # fmt: skip
"""Words of other languages for the same hints, as names are written in markup: in Latin letters,
without accents. Singular for an article: sites name lists of them in the plural."""

WINDOW_NAMES = names_in("cookie* consent* gdpr modal* popup* lightbox dialog alertdialog")
"""Words of what is laid over a page: it asks for something, or waits for a click."""
LAYER_NAMES = names_in(
    "onetrust* optanon* didomi* cybot* usercentrics* klaro osano* cky cookieyes cmplz* complianz* iubenda* truste "
    "trustarc* evidon* tarteaucitron* axeptio* orejime borlabs* termly* sirdata* cmpbox* cmpwrapper* cookiehub "
    "sourcepoint* consentmanager* rgpd* lgpd* dsgvo* browsehappy browserupgrade* outdatedbrowser* buorg* chromeframe "
    "smartbanner* appbanner*"
)
"""Names that nothing else has: what asks for consent, what says that a browser is old, or to install an app."""
SUBJECT_NAMES = names_in("browser* app apps ie javascript privacy dialog")
NOTICE_NAMES = names_in(
    "banner install* download promo prompt* warning* upgrade* update outdated unsupported obsolete old deprecated "
    "notice alert* smart"
)
"""Words of both: a notice about the reader's program, and not about the page."""
OTHERS_NAMES = names_in(
    "relat* recommend* similar upsell upsells crosssell aehnlich* ahnlich* similaire* relacionad* "
    "correlati podobn* powiazan* gerelateerd* souvisejic* pohozh* benzer* xiangguan* tuijian*"
)
"""Words of what a page shows beside its own: with a word of `product`, a shop's other goods."""
NOT_SHOWN_BIT, WINDOW_BIT, OTHERS_BIT, LAYER_BIT, SUBJECT_BIT, NOTICE_BIT = (
    1 << len(HINTS) << n for n in range(6)
)
"""Bits beside an element's hints, which are no features: its own style hides it, it has the names of
a window, or of others of its kind, it is a layer by its role or by the name of its maker, and it has
a word of a notice's subject and of a notice."""
HINT_BITS_MASK = NOT_SHOWN_BIT - 1


def make_table(entries: dict[str, Any], slots: int, *columns: Any) -> tuple[Any, ...]:
    """Open-addressing tables: hashes of the names, and a column for each value of an entry."""
    hashes = np.zeros(slots, dtype=np.uint64)
    values = [np.zeros(slots, dtype=kind) for kind in columns]
    for name, entry in entries.items():
        value = name_hash(name)
        slot = value % slots
        while hashes[slot]:
            slot = (slot + 1) % slots
        hashes[slot] = value
        for column, each in zip(values, entry, strict=True):
            column[slot] = each
    return hashes, *values


def _tag_entries() -> dict[str, tuple[int, int]]:
    entries = {name: (IS_BREAKING, number) for name, number in TAGS.items()}
    entries |= dict.fromkeys(VOID, (IS_VOID, 0)) | dict.fromkeys(LEFT_OUT, (IS_LEFT_OUT, 0))
    entries |= dict.fromkeys((*RAW_ELEMENTS, "noembed", "iframe", "plaintext"), (IS_RAW, 0))
    return entries | {
        "br": (IS_BR, 0), "a": (IS_A, 0), "math": (IS_MATH, 0), "hr": (IS_HR, 0), "span": (IS_SPAN, 0),
        "q": (IS_QUOTE, 0), "sup": (IS_SUP, 0), "sub": (IS_SUP, 0), "m:math": (IS_MATH, 0), "mml:math": (IS_MATH, 0),
    }  # fmt: skip


def _hint_entries() -> dict[str, tuple[int]]:
    """Bits of each word; the sign bit marks those that take any ending."""
    bits: dict[str, int] = {}
    given = [
        (1 << HINTS[hint], words.split())
        for table in (VOCABULARY, OTHER_LANGUAGES)
        for hint, words in table.items()
    ]
    for bit, words in (
        *given,
        (WINDOW_BIT, WINDOW_NAMES),
        (OTHERS_BIT, OTHERS_NAMES),
        (LAYER_BIT, LAYER_NAMES),
        (SUBJECT_BIT, SUBJECT_NAMES),
        (NOTICE_BIT, NOTICE_NAMES),
    ):
        for word in words:
            stem = word.rstrip("*")
            bits[stem] = bits.get(stem, 0) | bit | (stem != word) << 31
    return {word: (value,) for word, value in bits.items()}


def _entity_entries() -> dict[str, tuple[int]]:
    """First and second code point of each name, with `;` where it needs one."""
    return {
        name: (ord(chars[0]) | (ord(chars[1]) << 32 if len(chars) > 1 else 0),)
        for name, chars in html5.items()
    }


class NameTables(NamedTuple):
    """Tables of names, by hash: elements, hints of attributes, entities."""

    tag_hashes: Words
    tag_kinds: npt.NDArray[np.uint8]
    tag_numbers: npt.NDArray[np.uint8]
    hint_hashes: Words
    hint_bits: npt.NDArray[np.uint32]
    entity_hashes: Words
    entity_codes: Words


@functools.cache
def name_tables() -> NameTables:
    """Made when the first page is read: it takes longer than a command needs that reads none."""
    return NameTables(
        *make_table(_tag_entries(), _SLOTS, np.uint8, np.uint8),
        *make_table(_hint_entries(), _SLOTS, np.uint32),
        *make_table(_entity_entries(), 8192, np.uint64),
    )


@byte_kernel
def signed(value: Any) -> Any:
    """An int64: numba makes a float of an unsigned number and a signed one."""
    return np.int64(value)


@byte_kernel
def find_slot(hashes: Words, value: np.uint64) -> Any:
    """Slot of a hash in a table, -1 where it is not in it."""
    mask = np.uint64(len(hashes) - 1)
    slot = value & mask
    while hashes[slot] != 0:
        if hashes[slot] == value:
            return signed(slot)
        slot = (slot + np.uint64(1)) & mask
    return -1
