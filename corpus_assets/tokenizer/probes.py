"""Texts of many kinds that a tokenizer must give back exactly, character by character.

None of them is in any corpus, and none has to be well compressed: they show what a tokenizer
loses, where it loses anything.
"""

from collections.abc import Mapping

PYTHON = (
    "class Queue:\n"
    '    """First in, first out."""\n\n'
    "    def __init__(self, items=None):\n"
    "        self._items = list(items or [])\n\n"
    "    def pop(self):\n"
    "        if not self._items:\n"
    '            raise IndexError(f"empty: {self!r:>10}")  # nothing left\n'
    "        return self._items.pop(0)\n"
)
MAKEFILE = "all: build\n\nbuild:\t\tmain.o\n\tcc -o $@ $^ \\\n\t\t-lm\t# two tabs\n\n.PHONY:\tall\n"
TYPESCRIPT = (
    "export type Row<T extends object = {}> = Readonly<T> & { id: string; tags?: string[] };\n"
    "const sum = async (rows: Row[]): Promise<number | null> =>\n"
    "  rows.length ? rows.reduce((n, { tags }) => n + (tags?.length ?? 0), 0) : null;\n"
)
RUST = (
    "impl<'a, T: Ord + Clone> Heap<'a, T> {\n    pub fn pop(&mut self) -> Option<T> {\n"
    "        let top = self.items.first()?.clone(); // `None` if empty\n"
    '        println!("{:?} {top:>8}", self.items.len() as u64 & !0xff_u64);\n'
    "        Some(top)\n    }\n}\n"
)
LATEX = (
    "\\begin{align*}\n  \\int_{-\\infty}^{\\infty} e^{-x^2}\\,dx &= \\sqrt{\\pi} \\\\\n"
    "  \\sum_{n=1}^{\\infty} \\frac{1}{n^2} &= \\frac{\\pi^2}{6} \\quad (\\text{Euler})\n"
    "\\end{align*}\n% $100\\%$ & \\# \\_ \\{ \\}\n"
)
CJK = (
    "図書館の窓から見える山は、雪で白い。「静かですね」と彼女は言った。\n"
    "图书馆的窗外，山上覆盖着白雪。他轻轻地说：“真安静啊。”２０２４年１月\n"
    "도서관 창문 너머로 눈 덮인 산이 보인다. ㄱㄴㄷ 한글 자모\n"
)
SCRIPTS = (
    "Ο λύκος και το αρνί. Съешь же ещё этих мягких булок. שלום עולם. "
    "\u200fمرحبًا بالعالم\u200e ١٢٣. नमस्ते दुनिया क्षत्रिय। ภาษาไทยไม่มีช่องว่าง "
    "தமிழ் எழுத்து. አማርኛ ቋንቋ። ქართული ენა. Tiếng Việt có dấu. Ѐ e\u0301 \u1e9b\u0323"
)
EMOJI = (
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 "
    "\U0001f3f3\ufe0f\u200d\U0001f308 \U0001f1f3\U0001f1f1\U0001f1ef\U0001f1f5 "
    "\U0001f44d\U0001f3fd 1\ufe0f\u20e3 \u2764\ufe0f\u200d\U0001f525 \u263a\ufe0e \U0001fae0"
)
URLS = (
    "https://example.org:8443/a/b%20c/?q=caf%C3%A9&x[]=1&x[]=2#frag-1.2 "
    "mailto:a.b+c@example.org ftp://198.51.100.7/~u/x.tar.gz //cdn.example.net/v1.2.3/a.min.js "
    "http://xn--bcher-kva.example/%F0%9F%98%80 C:\\Users\\x\\file.txt /usr/lib/x86_64\n"
)
HTML = (
    "<!DOCTYPE html>\n<html lang='en'>\n<head><meta charset=\"utf-8\"><title>A &amp; B</title>\n"
    '<style>p > a:hover{color:#f0a}</style></head>\n<body><p class="x y">5 &lt; 6&nbsp;&copy;'
    "<br/>\n<!-- note --><script>let a=()=>`${1}`;</script></p></body></html>\n"
)
SQL = (
    "SELECT u.id, COUNT(*) AS \"n rows\", COALESCE(x.name, 'it''s -- none')\n"
    "FROM users AS u\n\tLEFT JOIN [order items] x ON x.user_id = u.id AND u.age >= 18\n"
    "WHERE u.mail LIKE '%\\_%' ESCAPE '\\'\nGROUP BY 1, 3 HAVING COUNT(*) > 1e3; /* end */\n"
)
REPLACED = b"caf\xe9 \xff\xfe \xed\xa0\x80 \xf0\x9f\x98 tail".decode("utf-8", errors="replace")
NUMBERS = "0 7 42 1234 12345678901234567890 3.14159 1,000,000.00 -1e-9 0xFF 10% ½ Ⅷ ٣٤٥ 1_000"
SPACES = (
    " one  two   three\n\n\n    indented\n\t\tmixed \t \n \n\r\nWindows\r\nOld Mac\r"
    "\u00a0no-break\u2003em\u200bzero\u3000wide\ufeff end   "
)
SPELLED = "<|end_of_document|><|pad|> <|reserved_7|> <s></s> [CLS] <unk> <0x0A> ▁Ġ Ċ"
CONTROLS = "".join(map(chr, range(0x20))) + "\x7f\x80\x9f\xad\u2028\u2029\ufffd\ufffe\U0010ffff"
JSON_TEXT = (
    '{"a": [1, -2.5e10, null, true], "b\\n\\u00e9": {"c": "\\"quoted\\" \\\\ /"}, "d": ""}\n'
)
LONG_WORDS = " ".join(f"word{number * 7919 % 99991}" for number in range(3_000))
LONG_RUNS = "x" * 5_000 + "7" * 2_999 + "=" * 5_000 + " " * 3_000 + "é" * 1_000 + "字" * 1_000

PROBES: Mapping[str, str] = {
    "code, 4 spaces": PYTHON,
    "code, tabs": MAKEFILE,
    "TypeScript": TYPESCRIPT,
    "Rust": RUST,
    "LaTeX": LATEX,
    "CJK": CJK,
    "other scripts": SCRIPTS,
    "emoji with joiners": EMOJI,
    "URLs and paths": URLS,
    "HTML": HTML,
    "SQL": SQL,
    "JSON": JSON_TEXT,
    "numbers": NUMBERS,
    "white space": SPACES,
    "control characters": CONTROLS,
    "special tokens spelled out": SPELLED,
    "invalid UTF-8, replaced": REPLACED,
    "a very long line": LONG_WORDS,
    "very long runs": LONG_RUNS,
    "nothing": "",
}
"""By what they are. Invalid UTF-8 cannot reach a tokenizer: what was not UTF-8 is there as
U+FFFD, put in by the decoder, and must come back as that."""
