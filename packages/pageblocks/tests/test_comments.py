"""Comments under a story are no text of it; posts of a thread are, whatever they are called."""

import pytest

from pageblocks import extract

STORY = (
    "The river rose by two metres in the night, and the lower town was under water by dawn. Nobody was "
    "hurt, but forty families had to leave their homes.",
    "The mayor said the dam had held as it was built to do. She asked for help from the neighbouring "
    "towns, which sent boats and blankets before noon.",
)
SAID = (
    "I saw it from the hill, and it was higher than in the year of the great storm, believe me.",
    "My aunt lost her hay and two goats. Who is going to pay for that, I would like to know?",
    "It is always the lower town. They should have built the wall ten years ago, as was promised.",
    "Thanks to the neighbours! We were in the boat for an hour with three children and a dog.",
    "The dam did not hold in the least, the water came over it. I have pictures of that night.",
)
SECTIONS = {
    "WordPress": (
        "<ol class=comment-list>{}</ol>",
        "<li class='comment depth-1'><article class=comment-body><footer class=comment-meta>{} says</footer>"
        "<div class=comment-content><p>{}</p></div></article></li>",
    ),
    "Drupal": (
        "<section id=comments><h2>Comments</h2>{}</section>",
        "<article class=comment><h3>Reply</h3><div class=submitted>{}</div><div class=field><p>{}</p></div></article>",
    ),
    "German": (
        "<div class=kommentare><h1>Kommentare</h1>{}</div>",
        "<div class=kommentar><b>{}</b><div class=kommentartext>{}</div></div>",
    ),
    "Polish": (
        "<div id=komentarze>{}</div>",
        "<div class=komentarz><p class=gosc>{}</p><p class=tresc>{}</p></div>",
    ),
}
AROUND = {
    "article": "<article>{}</article>",
    "content": "<div class=entry-content>{}</div>",
    "main": "<main>{}</main>",
}


def story(around: str) -> str:
    return AROUND[around].format("<h1>The flood</h1>" + "".join(f"<p>{line}</p>" for line in STORY))


def section(name: str, repeats: int = 4) -> str:
    outer, one = SECTIONS[name]
    said = (one.format(f"Reader {n}", SAID[n % len(SAID)]) for n in range(repeats * len(SAID)))
    return outer.format("".join(said))


@pytest.mark.parametrize("name", SECTIONS)
@pytest.mark.parametrize("around", AROUND)
def test_a_short_story_with_many_comments_is_the_story(name: str, around: str) -> None:
    text = extract(f"<title>The flood</title>{story(around)}{section(name)}").text
    assert all(line in text for line in STORY)
    assert not [line for line in SAID if line in text]


def test_posts_of_one_make_are_a_thread_the_first_one_too() -> None:
    said = "".join(
        f"<div class='reply comment'><span class=user>u{n}</span><div class=md><p>{line}</p></div></div>"
        for n, line in enumerate(SAID)
    )
    first = "".join(f"<p>{line}</p>" for line in STORY)
    text = extract(
        f"<title>Who saw it?</title><main><h1>Who saw it?</h1><div class=md>{first}</div>{said}</main>"
    ).text
    assert all(line in text for line in SAID)


def test_a_page_that_says_it_is_a_forum_keeps_its_comments() -> None:
    said = '<script type=\'application/ld+json\'>{"@type": "DiscussionForumPosting"}</script>'
    page = f"<title>The flood</title>{{}}{story('content')}{section('Polish', 1)}"
    assert all(line in extract(page.format(said)).text for line in SAID)
    assert not [line for line in SAID if line in extract(page.format("")).text]


def test_a_guest_book_is_its_comments() -> None:
    page = f"<title>Guests</title><main><h1>Guests</h1><p>Write what you like.</p>{section('German', 1)}</main>"
    assert all(line in extract(page).text for line in SAID)


def test_an_opinion_called_a_comment_is_the_text() -> None:
    lines = "".join(f"<p>{line}</p>" for line in (*STORY, *SAID))
    page = f"<title>The wall</title><div class=kommentar><h1>The wall</h1>{lines}</div>"
    assert all(line in extract(page).text for line in SAID)
