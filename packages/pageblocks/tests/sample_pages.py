"""Pages and texts that tests share."""

from random import Random

from pageblocks.training.pages import Texts

SENTENCE = "The river rose by two metres in the night, and the lower town was under water by dawn. "

ARTICLE = f"""<!DOCTYPE html><html><head><title>The flood | Daily</title><script>var a = "<p>no</p>";</script>
</head><body><div class="cookie-banner"><p>We use cookies, as all do. Accept them, please.</p><button>Accept</button></div>
<header><a href="/">Daily</a><nav><ul><li><a href="/a">News</a><li><a href="/b">Sport</a><li><a href="/c">Culture</a></ul></nav></header>
<main><article><h1>The flood</h1><div class="byline">By <a href="/x">A. Writer</a>, 3 May 2024</div>
<p>{SENTENCE * 3}</p><h2>What was lost</h2><p>{SENTENCE * 4}</p><ul><li>{SENTENCE}</li><li>{SENTENCE * 2}</li></ul>
<blockquote><p>He said: {SENTENCE * 2}</p></blockquote><p>{SENTENCE * 3}</p></article>
<div class="share"><a href="#">Facebook</a> <a href="#">Email</a></div>
<section class="comments"><h3>2 comments</h3><div class="comment"><span>Bob</span><p>I saw it too, it was high.</p></div></section></main>
<aside class="sidebar"><h3>Most read</h3><ul><li><a href="/1">A cat in a tree</a></li><li><a href="/2">Rain tomorrow</a></li></ul></aside>
<footer><ul><li><a href="/about">About us</a></li><li><a href="/terms">Terms</a></li></ul><p>© 2024 Daily. All rights reserved.</p></footer></body></html>"""

DECLARED = f"""<script type="application/ld+json">{{"@type": "Recipe", "name": "Rye &amp; bread",
"recipeIngredient": ["<b>1</b> kg rye", "water"], "recipeInstructions": "{SENTENCE}"}}</script><p>Wait."""

POST = "<div class=post><div class=user><a href=/u>{}</a></div><div class=date>1.2.2024</div><div class=body><p>{}</p></div></div>"

WORDS = [
    "Home",
    "News",
    "The",
    "cat",
    "sat",
    "on",
    "the",
    "mat,",
    "and",
    "slept.",
    "Read",
    "more",
    "12",
    "Contact",
    "us!",
    "猫が座った。",
]

TAGS = ("div", "p", "ul", "li", "h1", "h2", "nav", "article", "section", "td", "table", "footer")


def random_page(random: Random) -> bytes:
    made = ["<title>The cat</title>"]
    for _ in range(random.randint(1, 40)):
        name = random.choice(TAGS)
        mark = random.choice(
            ("", " class=nav", " class='post-content'", " id=comments", " class=x")
        )
        words = " ".join(random.choices(WORDS, k=random.choice((0, 1, 3, 40))))
        made.append(
            f"<{name}{mark}>" + (f"<a href=x>{words}</a>" if random.random() < 0.3 else words)
        )
        if random.random() < 0.5:
            made.append(f"</{random.choice(TAGS)}>")
    return "".join(made).encode()


def texts() -> Texts:
    """A few hundred paragraphs of nonsense, the same everywhere."""
    random = Random(1)
    words = ["".join(random.choices(("ka", "lo", "mi", "ru", "te", "s"), k=3)) for _ in range(500)]
    lines = [
        " ".join(random.choices(words, k=random.randint(12, 60))).capitalize() + "."
        for _ in range(400)
    ]
    return Texts([{"lang": "en", "text": "\n".join(lines)}])
