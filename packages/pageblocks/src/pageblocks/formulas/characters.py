"""Characters of mathematics as TeX: commands of LaTeX and the AMS packages by their Unicode characters.

Letters of the mathematical alphabets (`𝐱`, `ℝ`) are commands over the plain letter; what has no command
here stays as it is.
"""

import functools
import unicodedata

_COMMANDS = """
α alpha β beta γ gamma δ delta ε varepsilon ϵ epsilon ζ zeta η eta θ theta ϑ vartheta ι iota κ kappa
ϰ varkappa λ lambda μ mu µ mu ν nu ξ xi π pi ϖ varpi ρ rho ϱ varrho σ sigma ς varsigma τ tau υ upsilon
φ varphi ϕ phi χ chi ψ psi ω omega ϝ digamma Γ Gamma Δ Delta ∆ Delta Θ Theta Λ Lambda Ξ Xi Π Pi Σ Sigma
Υ Upsilon ϒ Upsilon Φ Phi Ψ Psi Ω Omega Ω Omega
± pm ∓ mp × times ÷ div ⋅ cdot · cdot ∙ bullet • bullet ∘ circ ⋆ star ★ bigstar † dagger ‡ ddagger
⊕ oplus ⊖ ominus ⊗ otimes ⊘ oslash ⊙ odot ∧ wedge ∨ vee ∩ cap ∪ cup ⊎ uplus ⊓ sqcap ⊔ sqcup
∖ setminus ≀ wr ⋄ diamond ⋉ ltimes ⋊ rtimes ⋈ bowtie ⊞ boxplus ⊠ boxtimes ⊡ boxdot
≤ leq ≥ geq ⩽ leqslant ⩾ geqslant ≦ leqq ≧ geqq ≪ ll ≫ gg ⋘ lll ⋙ ggg ≠ neq ≡ equiv ≢ not\\equiv
≈ approx ≉ not\\approx ≃ simeq ≅ cong ≇ ncong ∼ sim ≁ nsim ≍ asymp ≐ doteq ≜ triangleq ∝ propto
≺ prec ≻ succ ≼ preceq ≽ succeq ⪯ preceq ⪰ succeq ≲ lesssim ≳ gtrsim ≶ lessgtr ≷ gtrless ≮ nless
≯ ngtr ≰ nleq ≱ ngeq ∈ in ∉ notin ∋ ni ⊂ subset ⊃ supset ⊆ subseteq ⊇ supseteq ⊄ not\\subset
⊅ not\\supset ⊈ nsubseteq ⊉ nsupseteq ⊊ subsetneq ⊋ supsetneq ⊏ sqsubset ⊐ sqsupset ⊑ sqsubseteq
⊒ sqsupseteq ∣ mid ∤ nmid ∥ parallel ∦ nparallel ⊥ perp ⟂ perp ⊢ vdash ⊣ dashv ⊨ models ⊩ Vdash
⊲ lhd ⊳ rhd ⊴ unlhd ⊵ unrhd ⌢ frown ⌣ smile ∴ therefore ∵ because
← leftarrow → rightarrow ↑ uparrow ↓ downarrow ↔ leftrightarrow ↕ updownarrow ⇐ Leftarrow
⇒ Rightarrow ⇑ Uparrow ⇓ Downarrow ⇔ Leftrightarrow ⟵ longleftarrow ⟶ longrightarrow
⟷ longleftrightarrow ⟸ Longleftarrow ⟹ Longrightarrow ⟺ Longleftrightarrow ↦ mapsto ⟼ longmapsto
↪ hookrightarrow ↩ hookleftarrow ↠ twoheadrightarrow ↣ rightarrowtail ⇀ rightharpoonup
⇁ rightharpoondown ↼ leftharpoonup ↽ leftharpoondown ⇌ rightleftharpoons ⇋ leftrightharpoons
↗ nearrow ↘ searrow ↙ swarrow ↖ nwarrow ⇝ rightsquigarrow ↛ nrightarrow ⇏ nRightarrow
∑ sum ∏ prod ∐ coprod ∫ int ∬ iint ∭ iiint ∮ oint ⋂ bigcap ⋃ bigcup ⋀ bigwedge ⋁ bigvee ⨁ bigoplus
⨂ bigotimes ⨀ bigodot ⨆ bigsqcup ⨄ biguplus
∂ partial ∇ nabla ∞ infty ∅ emptyset ⌀ varnothing ∀ forall ∃ exists ∄ nexists ¬ neg ∠ angle
∡ measuredangle △ triangle □ square ■ blacksquare ◻ square ∎ blacksquare ♯ sharp ♭ flat ♮ natural
♠ spadesuit ♡ heartsuit ♢ diamondsuit ♣ clubsuit ⊤ top ⊺ intercal ℏ hbar ℓ ell ℘ wp ℜ Re ℑ Im ℵ aleph
ℶ beth ℷ gimel ı imath ȷ jmath ð eth … ldots ⋯ cdots ⋮ vdots ⋱ ddots √ surd
⟨ langle ⟩ rangle 〈 langle 〉 rangle 〈 langle 〉 rangle ⌊ lfloor ⌋ rfloor ⌈ lceil ⌉ rceil ‖ | ∕ slash
⟦ llbracket ⟧ rrbracket ⎰ lmoustache ⎱ rmoustache
"""
_PLAIN = {
    "−": "-", "‐": "-", "‑": "-", "–": "-", "∗": "*", "⁄": "/", "∕": "/", "′": "'", "″": "''", "‴": "'''", "⁗": "''''",
    "’": "'", "∶": ":", "≔": ":=", "≕": "=:", "\u2061": "", "\u2062": "", "\u2063": "", "\u2064": "", "\u200b": "",
    "\u200c": "", "\u200d": "", "\ufeff": "", "\xad": "", "\u2009": r"\,", "\u200a": r"\,", "\u202f": r"\,",
    "\xa0": "~", "\u2003": r"\quad", "\u2002": r"\enspace", "\u2005": r"\:", "\u205f": r"\:", "°": r"^{\circ}",
    "#": r"\#", "%": r"\%", "&": r"\&", "_": r"\_", "{": r"\{", "}": r"\}", "$": r"\$", "\\": r"\backslash",
    "~": r"\sim", "^": r"\hat{}", "Ο": "O", "ο": "o", "Α": r"\mathrm{A}", "Β": r"\mathrm{B}", "Ε": r"\mathrm{E}",
    "Ζ": r"\mathrm{Z}", "Η": r"\mathrm{H}", "Ι": r"\mathrm{I}", "Κ": r"\mathrm{K}", "Μ": r"\mathrm{M}",
    "Ν": r"\mathrm{N}", "Ρ": r"\mathrm{P}", "Τ": r"\mathrm{T}", "Χ": r"\mathrm{X}", "⅓": r"\frac{1}{3}",
    "½": r"\frac{1}{2}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}", "⅔": r"\frac{2}{3}", "ℎ": "h", "Å": r"\mathrm{\AA}",
}  # fmt: skip
_names = _COMMANDS.split()
COMMANDS = {
    char: f"\\{name}" for char, name in zip(_names[::2], _names[1::2], strict=True)
} | _PLAIN

IN_TEXT = str.maketrans(
    {"#": r"\#", "%": r"\%", "&": r"\&", "_": r"\_", "{": r"\{", "}": r"\}", "$": r"\$",
     "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)  # fmt: skip
"""What `\\text{...}` holds of the characters that TeX takes for its own."""

ALPHABETS = (
    ("DOUBLE-STRUCK", r"\mathbb"),
    ("FRAKTUR", r"\mathfrak"),
    ("BLACK-LETTER", r"\mathfrak"),
    ("SCRIPT", r"\mathcal"),
    ("MONOSPACE", r"\mathtt"),
    ("SANS-SERIF", r"\mathsf"),
    ("BOLD ITALIC", r"\boldsymbol"),
    ("BOLD", r"\mathbf"),
)
_FUNCTIONS = (
    "arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf "
    "limsup ln log max min Pr sec sin sinh sup tan tanh"
)
FUNCTIONS = frozenset(_FUNCTIONS.split())
"""Names that LaTeX has a command for."""
ACCENTS = {
    "¯": ("bar", "overline"), "‾": ("bar", "overline"), "ˉ": ("bar", "overline"), "̄": ("bar", "overline"),
    "_": ("overline", "overline"), "―": ("overline", "overline"), "─": ("overline", "overline"),
    "^": ("hat", "widehat"), "ˆ": ("hat", "widehat"), "̂": ("hat", "widehat"), "~": ("tilde", "widetilde"),
    "˜": ("tilde", "widetilde"), "∼": ("tilde", "widetilde"), "̃": ("tilde", "widetilde"), "→": ("vec", "overrightarrow"),
    "⃗": ("vec", "overrightarrow"), "⟶": ("overrightarrow", "overrightarrow"), "⇀": ("vec", "overrightarrow"),
    "←": ("overleftarrow", "overleftarrow"), "↔": ("overleftrightarrow", "overleftrightarrow"),
    ".": ("dot", "dot"), "˙": ("dot", "dot"), "̇": ("dot", "dot"), "..": ("ddot", "ddot"), "¨": ("ddot", "ddot"),
    "̈": ("ddot", "ddot"), "ˇ": ("check", "check"), "˘": ("breve", "breve"), "´": ("acute", "acute"),
    "`": ("grave", "grave"), "˚": ("mathring", "mathring"), "∘": ("mathring", "mathring"),
    "⏞": ("overbrace", "overbrace"), "︷": ("overbrace", "overbrace"), "⏜": ("overparen", "overparen"),
}  # fmt: skip
"""What an accent over one letter is, and over more."""
UNDER_ACCENTS = {
    "_": "underline", "̲": "underline", "¯": "underline", "‾": "underline", "―": "underline", "─": "underline",
    "⏟": "underbrace", "︸": "underbrace",
}  # fmt: skip


@functools.lru_cache(maxsize=4096)
def tex_of_character(char: str) -> str:
    """One character as TeX; a command has no space after it."""
    found = COMMANDS.get(char)
    if found is not None:
        return found
    if char < "\x80":
        return char
    name = unicodedata.name(char, "")
    kind, _, code = unicodedata.decomposition(char).partition(" ")
    plain = chr(int(code, 16)) if kind == "<font>" else char  # no further: ϑ is not θ
    if plain == char or not name.startswith(
        ("MATHEMATICAL", "DOUBLE-STRUCK", "SCRIPT", "BLACK-LETTER")
    ):
        return char
    letter = "".join(COMMANDS.get(each, each) for each in plain)
    for word, command in ALPHABETS:
        if word in name:
            if command in (r"\mathcal", r"\mathfrak", r"\mathbb") or plain.isascii():
                return f"{command}{{{letter}}}"
            return rf"\boldsymbol{{{letter}}}"
    return letter
