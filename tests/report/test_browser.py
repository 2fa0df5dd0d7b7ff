# SPDX-License-Identifier: BSD-3-Clause
"""The page in a real browser: nothing is asked of anywhere, everything is there, and it can be used by
anybody."""

import shutil
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.report import records
from tests.report.conftest import html_of
from tests.report.test_hostile import HOSTILE, hostile_rows

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="needs Chromium (Debian: chromium)"
)
DESKTOP, PHONE = {"width": 1200, "height": 900}, {"width": 360, "height": 740}
PAGES = ("full.html", "twins.html", "time.html")
#: A4 less the margins of the page, in CSS pixels.
PAPER = {"width": int((210 - 24) / 25.4 * 96), "height": 1000}


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs the Python package playwright"
    )
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory, full_page, twins_page):
    folder = tmp_path_factory.mktemp("pages")
    over_time = html_of(
        [row for day in range(8) for row in records.later(records.streaming(), day)]
    )
    night = html_of(
        [row for day in range(8) for row in records.later(records.everything(), day)]
    )
    for name, text in (
        *(("full", full_page), ("twins", twins_page)),
        *(("time", over_time), ("night", night)),
    ):
        (folder / f"{name}.html").write_text(text)
    return folder


@pytest.fixture
def opened(chromium, files):
    """Return a function that opens a page and unfolds it; whatever it asked for or complained of fails the
    test."""
    complaints, contexts = [], []

    def open_page(name, address="", *, unfolded=True, **options):
        context = chromium.new_context(**({"viewport": DESKTOP} | options))
        contexts.append(context)
        page = context.new_page()
        path = files / name if isinstance(name, str) else name
        page.on(
            "console", lambda message: complaints.append(f"console: {message.text}")
        )
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on(
            "request",
            lambda request: (
                request.url in (path.as_uri(), path.as_uri() + address)
                or complaints.append(f"request: {request.url}")
            ),
        )
        page.goto(path.as_uri() + address)
        if unfolded:
            page.evaluate(
                "document.querySelectorAll('.part').forEach((each) => { each.open = true; })"
            )
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def popover(page):
    return page.locator("#popover")


def test_the_data_of_a_figure_are_a_table_when_they_are_asked_for(opened):
    page = opened("full.html")
    assert page.locator("#streaming-and-ping-pong-0 table").count() == 0
    page.locator("#streaming-and-ping-pong-0 summary").click()
    tables = page.locator("#streaming-and-ping-pong-0 table")
    tables.first.wait_for()  # a browser says that something was opened after the click is done
    assert tables.count() == page.locator("#streaming-and-ping-pong-0 svg.plot").count()
    text = page.get_by_role(
        "table", name="ping pong time, 2x1, us", exact=True
    ).inner_text()
    assert [line.split() for line in text.splitlines() if line.startswith("4K")] == [
        ["4K", "5"]
    ]
    page.locator("#streaming-and-ping-pong-0 summary").click()
    page.locator("#streaming-and-ping-pong-0 summary").click()
    assert page.locator("#streaming-and-ping-pong-0 table").count() == tables.count()


def test_pointing_at_a_value_tells_where_it_comes_from(opened):
    page = opened("full.html")
    assert popover(page).is_hidden()
    page.locator("#table-2 button").first.hover()
    text = popover(page).inner_text()
    words = [
        "zero_byte_latency_ping_pong",
        "fitted",
        "SMPI",
        "SAND Table 2",
        "n00, n01",
        "cbc",
        "2x1",
    ]
    assert [word for word in words if word not in text] == []
    popover(page).hover()  # the pointer may move into it
    assert popover(page).is_visible()
    page.mouse.move(1, 1)
    assert popover(page).is_hidden()


def test_the_keyboard_tells_where_a_figure_comes_from(opened):
    page = opened("full.html")
    button = page.locator("#table-2 button").first
    button.focus()
    assert popover(page).is_visible()
    assert button.get_attribute("aria-describedby") == "popover"
    page.keyboard.press("Tab")
    following = page.evaluate("document.activeElement.dataset.p")
    assert following != button.get_attribute("data-p")
    assert "zero_byte_latency_streaming" in popover(page).inner_text()
    page.keyboard.press("Escape")
    assert popover(page).is_hidden()
    assert page.evaluate("document.activeElement.dataset.p") == following
    page.keyboard.press("Enter")
    assert popover(page).is_visible()
    page.keyboard.press("Enter")
    assert popover(page).is_hidden()


def point(page, panel="ping pong time, 2x1, us", at=0):
    """Return where the point of the first line of a panel is, in the window."""
    plot = page.locator(f'#streaming-and-ping-pong svg[aria-label="{panel}"]').first
    plot.scroll_into_view_if_needed()
    return plot.evaluate(
        """(plot, at) => {
          const point = plot.querySelector("polyline").points.getItem(at);
          const place = point.matrixTransform(plot.getScreenCTM());
          return [place.x, place.y];
        }""",
        at,
    )


def test_pointing_at_a_line_tells_where_the_nearest_point_comes_from(opened):
    page = opened("full.html")
    page.mouse.move(*point(page, at=4))
    text = popover(page).inner_text()
    for word in (
        "4K B",
        "ping_pong_time",
        "5 us",
        "MPICH 5.0.2",
        "oak00, oak01",
        "2x1",
        "20261101T120000Z-0001",
    ):
        assert word in text, word
    assert page.locator("circle.ring").count() == 1
    page.mouse.move(1, 1)
    assert popover(page).is_hidden() and page.locator("circle.ring").count() == 0
    page.mouse.click(*point(page, at=2))  # a click keeps it
    page.mouse.move(1, 1)
    assert "8 B" in popover(page).inner_text()
    page.keyboard.press("Escape")
    assert popover(page).is_hidden()


def test_the_arrow_keys_go_along_the_lines_of_a_figure(opened):
    page = opened("full.html")
    page.locator("#streaming-and-ping-pong-0 .panels").focus()
    page.keyboard.press("ArrowRight")
    assert "0 B" in popover(page).inner_text()
    page.keyboard.press("ArrowRight")
    first = popover(page).inner_text()
    assert "1 B" in first
    page.keyboard.press("ArrowDown")
    other = popover(page).inner_text()
    assert "1 B" in other and other != first
    page.keyboard.press("Escape")
    assert popover(page).is_hidden()


def test_a_tap_tells_where_a_value_or_a_point_comes_from(opened):
    page = opened("full.html", viewport=PHONE, has_touch=True, is_mobile=True)
    button = page.locator("#table-2 button").first
    for tap, words in (
        (lambda: page.touchscreen.tap(*point(page, at=3)), "64 B"),
        (button.tap, "zero_byte_latency_ping_pong"),
    ):
        tap()
        assert words in popover(page).inner_text()
        box = popover(page).bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"]
    page.locator(".verdict").tap()
    assert popover(page).is_hidden()
    button.tap()
    assert popover(page).is_visible()
    page.keyboard.press("Escape")
    assert popover(page).is_hidden()


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colours_follow_the_reader_and_the_button(opened, scheme):
    page = opened("full.html", color_scheme=scheme)
    first = background(page)
    assert first == {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 28)"}[scheme]
    line = "getComputedStyle(document.querySelector('#streaming-and-ping-pong-0 polyline')).stroke"
    colour = page.evaluate(line)
    page.locator("#theme").click()
    assert (
        background(page)
        == {"dark": "rgb(255, 255, 255)", "light": "rgb(21, 24, 28)"}[scheme]
    )
    assert page.evaluate(line) != colour
    assert (
        page.locator("#theme").get_attribute("aria-pressed")
        == {"light": "true", "dark": "false"}[scheme]
    )
    page.locator("#theme").click()
    assert background(page) == first


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_does_not_scroll_sideways(opened, name):
    page = opened(name, viewport=PHONE, is_mobile=True)
    page.evaluate(
        "document.querySelectorAll('details').forEach((each) => { each.open = true; })"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    # What is wider scrolls in its own box, which the keyboard reaches.
    wide = page.evaluate(
        "[...document.querySelectorAll('.box')].filter((box) => box.scrollWidth > box.clientWidth + 1)"
        ".map((box) => [getComputedStyle(box).overflowX, box.tabIndex])"
    )
    assert wide
    assert {tuple(each) for each in wide} == {("auto", 0)}


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut_on_paper(opened, name):
    page = opened(name, viewport=PAPER, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert background(page) == "rgb(255, 255, 255)"
    beyond = page.evaluate(
        "[...document.querySelectorAll('table, svg.plot, p, li')].filter((each) => each.checkVisibility())"
        ".filter((each) => each.getBoundingClientRect().right > document.documentElement.clientWidth + 1)"
        ".map((each) => each.id || each.textContent.slice(0, 60))"
    )
    assert beyond == []
    assert page.locator("#theme").is_hidden()


def test_the_first_stop_of_the_keyboard_skips_to_the_report(opened):
    page = opened("full.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


#: Contrast by WCAG 2.2, success criterion 1.4.11: at least 3 for the lines of a drawing. Axe looks at text
#: alone.
CONTRAST = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const share = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * share(r) + 0.7152 * share(g) + 0.0722 * share(b);
  const paper = luminance(parse(getComputedStyle(document.body).backgroundColor));
  return [...document.querySelectorAll('polyline, .change, .key path, svg text')].map((each) => {
    const style = getComputedStyle(each);
    const ink = luminance(parse(each.tagName === 'text' ? style.fill : style.stroke));
    const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    return contrast / (each.tagName === 'text' ? 1.5 : 1);
  });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lines_can_be_told_from_the_background(opened, scheme):
    ratios = opened("full.html", color_scheme=scheme).evaluate(CONTRAST)
    assert len(ratios) > 100 and min(ratios) >= 3


@pytest.mark.parametrize(
    "viewport, scheme",
    [(DESKTOP, "light"), (PHONE, "dark")],
    ids=["desktop", "phone"],
)
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(opened, name, viewport, scheme):
    """Deque's axe-core: WCAG 2.2 A and AA, and its best practices; with the data of some figures open."""
    page = opened(name, viewport=viewport, color_scheme=scheme)
    for summary in page.locator("figure summary").all()[:3]:
        summary.click()
    found = Axe().run(page, options={"resultTypes": ["violations"]})
    assert found.violations_count == 0, found.generate_report()


def visible_parts(page):
    return [part.get_attribute("id") for part in page.locator(".part:visible").all()]


@pytest.mark.parametrize("name", ["night.html", "time.html"])
def test_before_anything_is_unfolded_a_page_is_a_screen_and_a_half(opened, name):
    page = opened(name, unfolded=False, viewport={"width": 1400, "height": 900})
    height = page.evaluate("document.documentElement.scrollHeight")
    assert height <= 1.5 * 900
    assert page.locator(".part[open]").count() == 0
    assert page.locator(".verdict").bounding_box()["y"] < 200


def test_values_are_found_by_check_size_and_words_and_the_address_finds_them_again(
    opened,
):
    page = opened("full.html", unfolded=False)
    before = visible_parts(page)
    page.locator("#find-check").select_option("Streaming")
    page.locator("#find-size").select_option("64")
    page.locator("#find-text").fill("ping_pong 2x1")
    table = page.locator("#found tbody tr")
    rows = [row.inner_text().split("\t") for row in table.all()]
    assert rows and {(row[0], row[3]) for row in rows} == {("Streaming 2x1", "64 B")}
    assert all("ping_pong" in row[1] for row in rows)
    assert f"{len(rows)} of " in page.locator("#find-count").inner_text()
    assert visible_parts(page) == ["streaming-and-ping-pong"]
    table.locator("button").first.hover()
    assert "oak00, oak01" in popover(page).inner_text()
    address = "#" + page.url.partition("#")[2]
    again = opened("full.html", address, unfolded=False)
    assert again.locator("#found tbody tr").count() == len(rows)
    page.locator("#find-text").fill("no such thing")
    assert table.count() == 0 and visible_parts(page) == []
    for field, empty in (("text", ""), ("check", ""), ("size", "")):
        if field == "text":
            page.locator(f"#find-{field}").fill(empty)
        else:
            page.locator(f"#find-{field}").select_option(empty)
    assert visible_parts(page) == before and "#" not in page.url


def test_an_address_of_a_figure_unfolds_its_section(opened):
    page = opened("full.html", "#streaming-and-ping-pong-0", unfolded=False)
    assert page.locator(".part[open]").count() == 1
    box = page.locator("#streaming-and-ping-pong-0").bounding_box()
    assert 0 <= box["y"] < DESKTOP["height"]
    link = page.locator("#streaming-and-ping-pong-0 .link")
    assert link.get_attribute("href") == "#streaming-and-ping-pong-0"


def test_a_table_is_saved_as_csv(opened):
    page = opened("full.html")
    with page.expect_download() as loading:
        page.locator(".box:has(#references-judged) .save").click()
    text = Path(loading.value.path()).read_text()
    assert loading.value.suggested_filename == "references-judged.csv"
    assert text.splitlines()[:2] == [
        "machine,verdict,case,metric,value,unit,reference,source",
        "oak,missed,OsuLatency 2x1,latency_64B,1.5,us,1 (at most 1.1),the offer",
    ]
    rows = page.locator("#references-judged tr").count()
    assert len(text.splitlines()) == rows


def test_no_record_runs_a_script_or_asks_for_anything(opened, tmp_path):
    path = tmp_path / "hostile.html"
    path.write_text(
        html_of(
            [row for text in HOSTILE[:7] for row in hostile_rows(text)][:400], HOSTILE
        ),
        "utf-8",
    )
    page = opened(path)
    for index in range(0, page.locator(".value").count(), 40):
        button = page.locator(".value").nth(index)
        if button.is_visible():
            button.hover()
    assert page.evaluate("typeof window.broken") == "undefined"
    assert page.locator("main").is_visible()
    assert page.locator("#popover img, #popover script").count() == 0
