"""The builtins of section "pages": markup, answers, class names, Markdown."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qvm.builtins.markdown import markdown_to_html
from qvm.values import Markup, Response
from tests.native_calls import call, stop_of


def test_raw_markup_is_the_text_as_it_is() -> None:
    markup = call("raw", "<b>&")
    assert isinstance(markup, Markup)
    assert markup.text == "<b>&"
    assert stop_of("raw", Markup("a")) == "argument 1 of `raw` must be str, got html"


def test_a_redirect_is_a_303_unless_another_is_given() -> None:
    answer = call("redirect", "/notes")
    assert isinstance(answer, Response)
    assert (answer.status, answer.body, answer.headers) == (303, None, {"location": "/notes"})
    assert call("redirect", "/", 308).status == 308


def test_an_answer_has_status_body_and_headers() -> None:
    answer = call("respond", 201, {"id": 1}, {"headers": {"X-Made": "yes"}})
    assert (answer.status, answer.body, answer.headers) == (201, {"id": 1}, {"x-made": "yes"})
    assert call("respond", 204).body is None
    assert call("respond", 200, "a", {}).headers == {}


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("redirect", [1], "argument 1 of `redirect` must be str, got int"),
        ("redirect", ["/", 200], "argument 2 of `redirect` must be 301, 302, 303, 307 or 308, got 200"),
        (
            "redirect",
            ["/\r\nset-cookie: a=b"],
            "argument 1 of `redirect` can't have a line's end or another control character in it",
        ),
        ("respond", ["200"], "argument 1 of `respond` must be int, got str"),
        ("respond", [100], "argument 1 of `respond` must be a status from 200 to 599, got 100"),
        ("respond", [200, "a", []], "argument 3 of `respond` must be { headers?: map<str> } or null, got list"),
        ("respond", [200, "a", {"header": {}}], 'argument 3 of `respond` has no "header": it takes `headers`'),
        ("respond", [200, "a", {"headers": []}], "`headers` of argument 3 of `respond` must be a record, got list"),
        ("respond", [200, "a", {"headers": {"a": 1}}], "the header `a` must be str, got int"),
        ("respond", [200, "a", {"headers": {"a b": "c"}}], '"a b" can\'t be the name of a header'),
        ("respond", [200, "a", {"headers": {"": "c"}}], '"" can\'t be the name of a header'),
        (
            "respond",
            [200, "a", {"headers": {"a": "b\nc: d"}}],
            "the header `a` can't have a line's end or another control character in it",
        ),
        ("classes", [1], "`classes` takes str, list, record, false and null, got int"),
        ("classes", [True], "`classes` takes str, list, record, false and null, got bool"),
        ("classes", [{"a": 1}], '"a" of `classes` must be bool, got int'),
        ("markdown_page", [None], "argument 1 of `markdown_page` must be str, got null"),
    ],
)
def test_what_is_wrong_is_a_stop_in_words(name: str, arguments: list, message: str) -> None:
    assert stop_of(name, *arguments) == message


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], ""),
        (["a b", "c"], "a b c"),
        (["a", None, False, {"b": True, "c": False, "d": None}], "a b"),
        ([["a", ["b", {"c e": True}]], "d"], "a b c e d"),
        (["a", "b a"], "a b"),
    ],
)
def test_class_names(arguments: list, text: str) -> None:
    assert call("classes", *arguments) == text


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("", ""),
        ("a\nb\n\nc", "<p>a\nb</p>\n<p>c</p>"),
        ("# One #\n### Three\n#no", "<h1>One</h1>\n<h3>Three</h3>\n<p>#no</p>"),
        ("Title\n===\nSub\n---", "<h1>Title</h1>\n<h2>Sub</h2>"),
        (
            "a *b* **c** ***d*** _e_ __f__ ~~g~~",
            "<p>a <em>b</em> <strong>c</strong> <strong><em>d</em></strong> "
            "<em>e</em> <strong>f</strong> <del>g</del></p>",
        ),
        ("snake_case_word 2 * 3 * 4", "<p>snake_case_word 2 * 3 * 4</p>"),
        ("**open and *closed*", "<p>**open and <em>closed</em></p>"),
        ("`<b>` ``a ` b`` `", "<p><code>&lt;b&gt;</code> <code>a ` b</code> `</p>"),
        ("\\*a\\* \\`b", "<p>*a* `b</p>"),
        ("\\``a`", "<p>`<code>a</code></p>"),
        ("\\``", "<p>``</p>"),
        ("a  \nb\\\nc", "<p>a<br>\nb<br>\nc</p>"),
        ('[a](/b) [c](https://d.e "f")', '<p><a href="/b">a</a> <a href="https://d.e" title="f">c</a></p>'),
        ("[*a* `b`](</c d>)", '<p><a href="/c d"><em>a</em> <code>b</code></a></p>'),
        ("![a *b*](/c.png)", '<p><img src="/c.png" alt="a b"></p>'),
        ("<https://a.b/?c&d>", '<p><a href="https://a.b/?c&amp;d">https://a.b/?c&amp;d</a></p>'),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        ("[x]( JAVASCRIPT:a)", "<p>[x]( JAVASCRIPT:a)</p>"),
        ("![x](data:text/html,a)", "<p>![x](data:text/html,a)</p>"),
        ("[a [b](c)", '<p>[a <a href="c">b</a></p>'),
        ('<script>a</script> & "', "<p>&lt;script&gt;a&lt;/script&gt; &amp; &quot;</p>"),
        ("- a\n- b\n  - c\n- d", "<ul>\n<li>a</li>\n<li>b\n<ul>\n<li>c</li>\n</ul></li>\n<li>d</li>\n</ul>"),
        ("- a\n\n- b", "<ul>\n<li><p>a</p></li>\n<li><p>b</p></li>\n</ul>"),
        ("3. a\n4. b", '<ol start="3">\n<li>a</li>\n<li>b</li>\n</ol>'),
        ("1) a\n\ntext", "<ol>\n<li>a</li>\n</ol>\n<p>text</p>"),
        ("> a\n> # b", "<blockquote>\n<p>a</p>\n<h1>b</h1>\n</blockquote>"),
        ("```py\nif a < b:\n\n```\nc", '<pre><code class="language-py">if a &lt; b:\n\n</code></pre>\n<p>c</p>'),
        ("~~~\nnever closed", "<pre><code>never closed\n</code></pre>"),
        ("    code *a*\n\n    b", "<pre><code>code *a*\n\nb\n</code></pre>"),
        ("---\n***", "<hr>\n<hr>"),
        (
            "|a|b|\n|:-|-:|\n|`1`|2|3|\n|4|",
            '<table>\n<thead>\n<tr><th style="text-align: left">a</th>'
            '<th style="text-align: right">b</th></tr>\n</thead>\n<tbody>\n<tr><td style="text-align: left">'
            '<code>1</code></td><td style="text-align: right">2</td></tr>\n<tr><td style="text-align: left">4</td>'
            '<td style="text-align: right"></td></tr>\n</tbody>\n</table>',
        ),
        ("a | b", "<p>a | b</p>"),
    ],
)
def test_markdown(text: str, html: str) -> None:
    assert markdown_to_html(text) == html
    assert call("markdown_page", text).text == html


class _Reader(HTMLParser):
    """Collects what a browser would find: the tags, that they are balanced, and every address."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]
        assert all(name in ("href", "src", "alt", "title", "class", "start", "style") for name, _ in attrs)
        if tag not in ("br", "hr", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


TAGS = """p h1 h2 h3 h4 h5 h6 em strong del code pre br a img ul ol li blockquote hr table thead tbody tr th td"""
PIECES = [
    *("*", "**", "_", "`", "``", "[", "![", "](", ")", "](javascript:x)", '](/a "b")', "<b>", "<", ">", "&", '"'),
    *("\n", "\n\n", "- ", "1. ", "> ", "# ", "    ", "```", "|", "|-|", "\\", "~~", "a", "b c", "  \n", "é"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_whatever_the_text_the_html_is_balanced_and_safe(text: str) -> None:
    html = markdown_to_html(text)
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    assert reader.tags <= set(TAGS.split())
    assert not any(re.match(r"\s*javascript:", address, re.IGNORECASE) for address in reader.addresses)


@pytest.mark.parametrize(
    "piece", ["*a ", "[", "`", "> ", "- ", "[a](", '[a](b "', "**a*", "- a\n", "|", "![[", "`a", "<a", "\\", "_ _"]
)
def test_a_long_text_of_marks_is_done_and_nothing_is_lost(piece: str) -> None:
    html = markdown_to_html(piece * 20_000)
    shown = re.sub("<[^>]*>", "", html)
    assert shown.count("a") == (piece * 20_000).count("a")
