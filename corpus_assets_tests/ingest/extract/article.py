"""A page with an article, and with what stands around one."""

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
