"""Names that code does not choose: keywords, and the functions and types every program may call.

They stand for themselves in a search for code; all other names may be renamed. Words of several
languages are one list: a word that is a keyword elsewhere is rarely a name here, and where it is,
only that one name cannot be renamed unseen.
"""

from types import MappingProxyType

from corpus_assets.kernels.code_tokens import HASH, SLASH

FIXED_NAMES = frozenset(
    """
    and as assert async await break class continue def del elif else except finally for from
    global if import in is lambda nonlocal not or pass raise return try while with yield match case
    True False None self cls
    abs all any bin bool bytearray bytes callable chr complex dict dir divmod enumerate eval exec
    filter float format frozenset getattr hasattr hash hex id input int isinstance issubclass iter
    len list map max min next object oct open ord pow print property range repr reversed round set
    setattr slice sorted staticmethod str sum super tuple type vars zip Exception ValueError
    TypeError KeyError IndexError StopIteration RuntimeError math re collections itertools functools
    Any Callable Dict Iterable Iterator List Optional Set Tuple Union defaultdict Counter deque
    abstract boolean byte catch char const delete do double enum export extends extern final
    function goto implements inline instanceof interface let long native new null package private
    protected public register short signed sizeof static struct switch synchronized template this
    throw throws transient typedef typename undefined unsigned using var virtual void volatile of
    true false String Integer Math System console require module exports Object Array Number
    func defer go chan fallthrough select make append fmt nil error
    fn impl mut pub use trait where loop move ref unsafe crate mod usize isize u8 u16 u32 u64 i8 i16
    i32 i64 f32 f64 Vec Some Ok Err Result Option Box
    begin end then elsif unless until rescue ensure puts attr_accessor
    echo foreach array isset namespace std vector string cout endl auto
    """.split()
)

_HASH_LANGUAGES = frozenset(
    "python ruby perl shell bash r julia elixir nim crystal awk makefile yaml tcl".split()
)
COMMENTS = MappingProxyType(dict.fromkeys(_HASH_LANGUAGES, HASH))


def comment_style(language: str) -> int:
    """How comments of a language begin: with `#`, or with `//` and `/*`."""
    return COMMENTS.get(language.lower(), SLASH)
