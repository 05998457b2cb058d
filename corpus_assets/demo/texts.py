"""Write texts that are no ordinary articles: spam, thin pages, contact lines, quotations, digests."""

from dataclasses import dataclass, replace

from corpus_assets.demo.compose import Article, Paragraph, fill, insert_paragraph
from corpus_assets.demo.draw import Draw
from corpus_assets.demo.library import EvalItem, Library
from corpus_assets.demo.sites import AUTHORS, slug_of

GLOBAL_ADDRESSES = (
    "198.41.0.4", "199.9.14.201", "192.33.4.12", "199.7.91.13", "192.203.230.10", "192.5.5.241",
    "193.0.14.129",
)  # fmt: skip
"""Addresses of the root servers of names: global, and of no private person."""

MAIL_HOSTS = ("example.org", "example.com", "mail.example.net", "desk.example.org")

_LEFT_ALONE = (
    "The old router still answers at 192.168.{a}.{b}, which only works from inside the building.",
    "We run version 10.{a}.0.1 of the booking software and have no plans to change it.",
    "On the local network the printer is 10.0.{a}.{b}, and it needs no password.",
    "Release {a}.2.{b} fixed the calendar, and release {a}.2.{b}.1 fixed what that had broken.",
)
"""Numbers that look like addresses of the net and are none that anyone outside could reach."""

NEAR_MISS_WORDS = 11  # shorter than any 13-gram, so no contamination rule can match it


@dataclass(frozen=True)
class WithContacts:
    """An article with contact lines in it, and how many of each kind are to be scrubbed."""

    article: Article
    emails: int
    ips: int


def spam(library: Library, draw: Draw, article_id: str) -> Article:
    """Fill one or two frames with one offer, the same words over and over."""
    offer = {name: draw.choice(values) for name, values in library.spam_slots.items()}
    frames = draw.sample(library.spam_frames, draw.between(1, 2))
    text = "\n\n".join(fill(frame, library.spam_slots, offer, draw) for frame in frames)
    return Article(article_id, "en", "offers", " ".join(text.split()[:7]), _paragraphs(text))


def thin(library: Library, lang: str, full: Article, draw: Draw, article_id: str) -> Article:
    """Return a page with next to nothing on it."""
    pages = library.snippets.get(lang, {}).get("thin_pages", ())
    text = draw.choice(pages) if pages else full.sentences()[0]
    title = full.title if not pages else " ".join(text.split()[:4]).rstrip(".,:;!?")
    return Article(article_id, lang, full.topic, title, _paragraphs(text))


def with_contacts(article: Article, library: Library, draw: Draw) -> WithContacts:
    """Write two or three lines with addresses to scrub, and one or two that must be left alone."""
    emails = ips = 0
    for frame in draw.sample(library.snippets["en"]["contact_sentences"], draw.between(2, 3)):
        name = draw.choice(AUTHORS)
        mailbox = slug_of(name).replace("-", ".")
        line = frame.replace("{name}", name)
        while "{email}" in line:
            address = f"{mailbox}{draw.between(1, 99)}@{draw.choice(MAIL_HOSTS)}"
            line = line.replace("{email}", address, 1)
            emails += 1
        while "{ip}" in line:
            line = line.replace("{ip}", draw.choice(GLOBAL_ADDRESSES), 1)
            ips += 1
        article = insert_paragraph(article, line, draw)
    for frame in draw.sample(_LEFT_ALONE, draw.between(1, 2)):
        line = frame.format(a=draw.between(1, 9), b=draw.between(10, 99))
        article = insert_paragraph(article, line, draw)
    return WithContacts(article, emails, ips)


def with_quote(article: Article, item: EvalItem, library: Library, draw: Draw) -> Article:
    """Return the whole question, quoted in a paragraph of its own."""
    question = " ".join(item.text.split())
    frame = draw.choice(library.quote_frames)
    return insert_paragraph(article, frame.replace("{question}", question), draw)


def with_near_miss(article: Article, item: EvalItem, library: Library, draw: Draw) -> Article:
    """Only the first half of the question, and never as much as 13 words of it."""
    words = item.text.split()
    part = " ".join(words[: min(len(words) // 2, NEAR_MISS_WORDS)]).rstrip(",;:") + " …"
    return insert_paragraph(article, f"{article.sentences()[1]} “{part}”", draw)


def digest_of(parents: list[Article], draw: Draw) -> str:
    """Return a question-and-answer text or a summary, every statement taken from the parents."""
    as_answers = draw.chance(60)
    out: list[str] = []
    for parent in parents:
        facts = draw.subset(parent.sentences(), draw.between(5, 8))
        if as_answers:
            half = (len(facts) + 1) // 2
            out.append(f"Question: What should a reader know about “{parent.title}”?")
            out.append("Answer: " + " ".join(facts[:half]))
            out.append(f"Question: What else does the text on {_plain(parent.topic)} say?")
            out.append("Answer: " + " ".join(facts[half:]))
        else:
            out.append(f"Summary of “{parent.title}”")
            out.append(" ".join(facts))
            out.append("Key point: " + draw.choice(facts))
    if len(parents) > 1:
        out.append("Both texts were read side by side, and each statement was kept as it stood.")
    return "\n\n".join(out)


def updated_line(article: Article, line: str) -> Article:
    """Return the article with a line on its last change in front of its last paragraph."""
    paragraphs = (*article.paragraphs[:-1], Paragraph((line,)), article.paragraphs[-1])
    return replace(article, paragraphs=paragraphs)


def _paragraphs(text: str) -> tuple[Paragraph, ...]:
    return tuple(Paragraph((block,)) for block in text.split("\n\n") if block)


def _plain(topic: str) -> str:
    return topic.replace("_", " ").replace("-", " ")
