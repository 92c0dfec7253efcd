"""The published page in a real browser: keyboard, comparison, widths, colours, console."""

import functools
import http.server
import sys
import threading
from pathlib import Path

import pytest

from waiting import until

sys.path.insert(0, str(Path(__file__).parent))

from browser import DOWN, ENTER, TAB, Browser, available

from robogate.reports.paired import mcnemar_exact
from robogate.reports.publish_cli import main

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not available(), reason="chromium and chromedriver are not installed"),
]

FOCUS = """
const e = document.activeElement;
return e === document.body ? null
  : [e.tagName.toLowerCase(), (e.id || e.textContent || e.getAttribute("aria-label")).trim()];
"""

#: Text whose contrast with what lies behind it is below WCAG AA's 4.5 (3 where it is large).
FAINT = """
const channel = (v) => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
const parse = (c) => c.match(/[0-9.]+/g).map(Number);
const light = ([r, g, b]) => .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b);
const behind = (e) => {
  for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c;
  }
  return [255, 255, 255];
};
const faint = [];
for (const e of document.querySelectorAll("body *")) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.checkVisibility() || ["SCRIPT", "STYLE", "OPTION"].includes(e.tagName)) continue;
  const style = getComputedStyle(e);
  const [a, b] = [light(parse(style.color)), light(behind(e))].sort((x, y) => y - x);
  const ratio = (a + .05) / (b + .05);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  if (ratio < (large ? 3 : 4.5)) faint.push([e.textContent.slice(0, 40), ratio]);
}
return faint;
"""


@pytest.fixture(scope="module")
def tree(full, boards):
    out = boards.folder / "browsed"
    arguments = [str(full[0]), "--out", str(out), "--key", str(boards.public_file)]
    assert main([*arguments, "--allow-unsigned"]) == 3
    return out


@pytest.fixture(scope="module")
def url(tree):
    """The page as a static web server gives it out."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tree))
    handler.log_message = lambda *args: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    with Browser() as one:
        yield one


@pytest.fixture
def page(browser, url):
    browser.messages()
    browser.resize(1280, 900)
    browser.open(url)
    return browser


def open_all(page):
    page.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")


def test_nothing_is_said_on_the_console_and_no_hostile_name_acts(page, tree, hostile):
    open_all(page)
    assert page.messages() == []
    assert page.run("return document.images.length") == 0
    assert page.run("return document.scripts.length") == 2
    assert page.run("return document.body.innerText").count(hostile[:30]) >= 2
    page.open((tree / "index.html").as_uri())  # from a disk, without a server
    assert page.messages() == []
    assert page.run("return document.querySelector('#comparison').textContent") != ""


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_is_wider_than_the_screen(page, width):
    page.resize(width, 844)
    open_all(page)
    wide = page.run(
        "return [...document.querySelectorAll('body *')]"
        ".filter((e) => e.checkVisibility() && !e.closest('thead, .skip')"
        " && e.getBoundingClientRect().right > innerWidth + 1)"
        ".map((e) => e.tagName + ' ' + e.textContent.slice(0, 40))"
    )
    assert wide == []
    assert page.run("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read(page, scheme, width):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.cdp("Emulation.setEmulatedMedia", features=features)
    page.resize(width, 844)
    open_all(page)
    try:
        ground = page.run("return getComputedStyle(document.body).backgroundColor")
        assert ground == {"light": "rgb(251, 250, 247)", "dark": "rgb(20, 23, 27)"}[scheme]
        assert page.run(FAINT) == []
    finally:
        page.cdp("Emulation.setEmulatedMedia", features=[])


def test_the_keyboard_reaches_everything_in_the_order_of_the_page(page):
    reached = []
    for _ in range(60):
        page.press(TAB)
        focus = page.run(FOCUS)
        if focus is None or (reached and focus == reached[0]):
            break
        outline = page.run("return getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", focus
        reached.append(focus)
    assert reached[0] == ["a", "Skip to the results"]
    assert reached[1] == ["a", "index.json"]
    kinds = [kind for kind, _ in reached]
    rows = page.run("return document.querySelectorAll('.ranking summary').length")
    assert kinds.count("summary") >= rows + 3  # and those of the controls and the log
    order = [reached.index(["select", name]) for name in ("pick-a", "pick-b")]
    assert order[1] == order[0] + 1
    assert reached[-1] == ["a", "log"]


def test_the_skip_link_shows_when_it_is_reached_and_skips(page):
    left = "return document.querySelector('.skip').getBoundingClientRect().left"
    assert page.run(left) < 0
    page.press(TAB)
    assert page.run(left) >= 0
    page.press(ENTER, TAB)
    assert page.run(FOCUS)[0] == "summary"


def test_evidence_opens_with_the_keyboard(page):
    page.run("document.querySelector('.ranking summary').focus()")
    page.press(ENTER)
    assert page.run("return document.querySelector('.ranking details').open") is True
    page.press(TAB)
    assert page.run(FOCUS) == ["a", "bundle.json"]


def choose(page, picker, bundle):
    page.run(
        "const p = document.getElementById(arguments[0]); p.value = arguments[1];"
        "p.dispatchEvent(new Event('change'));",
        picker,
        bundle,
    )
    return page.run("return document.getElementById('comparison').innerText")


def test_two_rows_are_compared_by_keyboard(page):
    before = page.run("return document.getElementById('comparison').innerText")
    assert before.startswith("The scores may be compared.")
    page.run("document.getElementById('pick-b').focus()")
    page.press(DOWN)
    after = page.run("return document.getElementById('comparison').innerText")
    assert after != before and "Exact McNemar p" in after


def test_the_comparison_says_what_the_command_says(page, full):
    names = full[1]
    choose(page, "pick-a", names["best"])
    text = choose(page, "pick-b", names["last"])
    assert "only A in 4, only B in 0, neither in 0" in text
    assert f"Exact McNemar p = {mcnemar_exact(4, 0):.3f}" in text
    assert "contract.adapter.model" in text and '"vla-one"' in text
    text = choose(page, "pick-b", names["longer"])
    assert text.startswith("The scores may not be compared, by contract.budget.max_actions.")
    assert "McNemar" not in text
    text = choose(page, "pick-b", names["here"])
    assert text.startswith("The scores may not be compared, by contract.adapter.transfer.")
    text = choose(page, "pick-b", names["best"])
    assert text == "Choose two different rows."
    text = choose(page, "pick-b", names["hostile"])
    assert "<img src=x onerror" in text and page.messages() == []
    assert "\u202e" not in text and "\\u202e" in text


def test_a_video_plays_from_beside_the_page(page, url, tree):
    state = "return [v.readyState >= 2, v.error && v.error.message, v.videoWidth]"
    for place in (url, (tree / "index.html").as_uri()):
        page.open(place)
        open_all(page)
        page.run("window.v = document.querySelector('video'); v.muted = true; v.play();")
        assert until(lambda: page.run(state) == [True, None, 64]), (place, page.run(state))
        assert page.messages() == []


def test_without_scripts_all_but_the_comparison_is_there(url):
    with Browser(390, 844, scripts=False) as page:
        page.open(url)
        node = page.cdp("DOM.getDocument", depth=-1, pierce=True)
        text = str(node)
        assert "vla-one" in text and "This part needs a script" in text
        assert page.messages() == []
