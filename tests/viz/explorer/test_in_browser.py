"""The explorer in a real browser, with a real server."""

import threading
import time
from contextlib import contextmanager
from urllib.parse import quote

import pytest

import kernode as kn
from browser import DESKTOP, PHONE, browser, missing
from kernode.viz.explorer import app
from tasks import number_model

pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


@contextmanager
def running(model, port=0, wrap=lambda one: one):
    """Serve a model in a thread; gives the address."""
    import uvicorn

    application = wrap(app(model._on(None), layout="pca"))
    server = uvicorn.Server(
        uvicorn.Config(application, port=port, log_level="error", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.02)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def address(model):
    with running(model) as address:
        yield address


@pytest.fixture(scope="module")
def window():
    with browser() as window:
        yield window


def show(window, address, where="", size=DESKTOP):
    window.resize(size)
    window.open("about:blank")
    window.open(address + where)


@pytest.fixture
def page(window, address):
    """The start page, at a desktop's size, without complaints of its own."""
    window.prefer("light")
    show(window, address)
    window.wait(".panel h2", "cora")
    yield window
    assert window.complaints() == []


def test_the_picture_is_there_within_two_seconds(page):
    assert page.script("return performance.getEntriesByName('first-picture')[0].startTime") < 2000
    pixels = """
        const canvas = document.getElementById("points");
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
        return new Promise((done) => requestAnimationFrame(() => {
          document.getElementById("closer").click();
          requestAnimationFrame(() => {
            copy.drawImage(canvas, 0, 0);
            const colours = new Set();
            const data = copy.getImageData(0, 0, canvas.width, canvas.height).data;
            for (let i = 0; i < data.length; i += 4) {
              if (data[i + 3] > 200) colours.add([0, 1, 2].map((c) => data[i + c] >> 5).join());
            }
            done(colours.size);
          });
        }));"""
    assert page.script(pixels) >= 7  # a colour for every class at least


def test_class_nearest_and_what_mattered_are_found_in_three_clicks(page, model):
    field = page.wait("#search input")
    field.click()
    field.send_keys("1033")
    page.wait("#search li", "1033").click()
    page.wait(".panel h2", "1033")
    (predicted,) = model.predict(["1033"])
    assert model._on(None).graph.class_names[predicted] in page.text("#glance-class")
    assert page.text("#glance-nearest").startswith(model.similar("1033", k=1)[0][0])
    parts = model.explain("1033").neighbours.parts
    most = next(part for part in parts if part.hops)
    assert page.text("#glance-mattered").startswith(str(most.name))
    page.wait("#glance-mattered a").click()
    page.wait(".panel h2", str(most.name))


def test_a_click_on_a_point_shows_its_node_and_back_goes_back(page):
    from selenium.webdriver import ActionChains

    canvas = page.wait("#points")
    place = page.script("""
        const buffer = await (await fetch("api/layout")).arrayBuffer();
        const n = new DataView(buffer).getUint32(0, true);
        const places = new Uint16Array(buffer, 8, 2 * n);
        const { Camera } = await import("./static/js/camera.js");
        const camera = new Camera();
        const canvas = document.getElementById("points");
        camera.resize(canvas.clientWidth, canvas.clientHeight);
        camera.frame(places);
        const [x, y] = camera.toScreen(places[0] / 65535, places[1] / 65535);
        return [x - canvas.clientWidth / 2, y - canvas.clientHeight / 2];""")
    ActionChains(page.driver).move_to_element_with_offset(canvas, *map(round, place)).click().perform()
    page.wait("#glance-class")
    assert page.script("return location.hash").startswith("#node=")
    page.driver.back()
    page.wait(".panel h2", "cora")


def test_everything_can_be_done_with_keys(page):
    from selenium.webdriver.common.keys import Keys

    page.press("/")
    assert page.script("return document.activeElement.getAttribute('role')") == "combobox"
    page.press("103")
    page.wait("#search li[aria-selected=true]")
    page.press(Keys.ARROW_DOWN)
    name = page.script("return document.querySelectorAll('#search li')[1].firstChild.nextSibling.textContent")
    page.press(Keys.ENTER)
    page.wait(".panel h2", name)
    page.press("/")
    page.press("35")
    page.wait("#search li")
    page.press(Keys.ESCAPE)
    assert not [one for one in page.all("#search li") if one.is_displayed()]
    page.script("document.getElementById('points').focus()")
    page.press(Keys.ARROW_LEFT, "+", Keys.ENTER)
    page.wait("#glance-class")


def test_an_explanation_is_drawn_as_thick_as_it_counts(page, address):
    page.open(f"{address}#node=1033")
    page.wait(".around")
    lines = page.script("""return [...document.querySelectorAll("svg[role=group] line.tie:not(.passing)")]
        .map((one) => [one.classList.contains("takes"), Number(one.getAttribute("stroke-width"))])""")
    assert len(lines) >= 3
    assert max(width for _, width in lines) == 10
    assert all(1 <= width <= 10 for _, width in lines)
    assert "total" in page.text("#panel")


def test_two_nodes_are_compared_by_link_and_by_hand(page, address, model):
    page.open(f"{address}#pair=35,1033")
    value = f"{model.explain('35', '1033').similarity:.4f}"
    assert value in page.wait("#glance-k").text
    page.open(f"{address}#node=35")
    field = page.wait(".panel .combobox input")
    field.send_keys("1033")
    page.wait(".panel .combobox li", "1033").click()
    page.wait("#glance-k", value)
    assert page.script("return location.hash") == "#pair=35,1033"


def test_what_if_and_a_new_node_are_answered(page, address):
    page.open(f"{address}#node=1033")
    page.wait(".panel > details summary").click()
    page.wait(".ticks input").click()
    page.wait(".panel > details button.main").click()
    page.wait(".answer", "The class would")
    page.open(f"{address}#new")
    page.wait(".panel h2", "New node")
    field = page.wait("fieldset .combobox input")
    field.send_keys("1033")
    page.wait("fieldset .combobox li", "1033").click()
    page.wait("button.main").click()
    assert "%" in page.wait("#new-class").text


def test_a_bad_name_is_said_and_the_page_lives_on(page, address):
    page.open(f"{address}#node={quote('<img src=x onerror=alert(1)>')}")
    assert "<img src=x onerror=alert(1)>" in page.wait(".wrong").text
    page.open(f"{address}#node=%E0%A4%A")  # half an escape
    page.wait(".wrong")
    page.open(f"{address}#node=35")
    page.wait("#glance-class")
    assert all("404" in one for one in page.complaints())


def test_names_with_markup_are_text(window, table_model):
    with running(table_model) as address:
        for name in table_model._on(None).graph.node_names[:9]:
            show(window, address, f"#node={quote(str(name), safe='')}")
            assert window.wait(".panel h2").text == name
        assert window.all(".panel h2 b") == []
        window.open(f"{address}#new")
        for column in ("year (number)", "venue (category)", "title (text)"):
            window.wait("label.field", column)
        assert window.complaints() == []


def test_what_cannot_be_explained_is_shown_in_its_place(window, cora, cache):
    graph, split = cora
    model = kn.NodeKernelClassifier("gat", hidden=8, epochs=2)
    model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
    with running(model) as address:
        for where, found in (("#node=35", "#glance-nearest"), ("#pair=35,1033", "#glance-k")):
            show(window, address, where)
            window.wait(found)
            assert "no exact explanation" in window.text("#panel")
    assert window.complaints() == []


def test_a_server_that_is_gone_is_shown_and_found_again(window, model):
    with running(model) as address:
        port = int(address.rsplit(":", 1)[1].strip("/"))
        show(window, address)
        window.wait(".panel h2", "cora")
    window.script("location.hash = '#node=35'")
    window.wait("#notice", "The server does not answer")
    with running(model, port):
        window.wait("#notice button").click()
        window.wait("#glance-class")
        assert not window.all("#notice")[0].is_displayed()
    window.complaints()


def test_trying_again_at_the_start_makes_one_map(window, model):
    refused = []

    def stumbling(inner):
        async def application(scope, receive, send):
            if scope.get("path") == "/api/nodes" and not refused:
                refused.append(1)
                await send({"type": "http.response.start", "status": 503, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return
            await inner(scope, receive, send)

        return application

    # Every map watches the size of its canvas: so many are made as watchers.
    counting = (
        "window.maps = 0; window.ResizeObserver = class extends ResizeObserver {"
        " constructor(told) { super(told); window.maps += 1; } };"
    )
    added = window.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": counting})
    with running(model, wrap=stumbling) as address:
        show(window, address)
        window.wait("#notice button").click()
        window.wait(".panel h2", "cora")
        assert window.script("return window.maps") == 1
    window.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
    assert all("503" in one for one in window.complaints())


def test_what_if_of_tables_shows_units_and_refuses_text(window, table_model):
    with running(table_model) as address:
        show(window, address, f"#node={quote('two words')}")
        window.wait(".panel > details summary").click()
        assert window.wait(".ticks label", "standardised: mean").text.startswith("year")
        window.script("document.querySelector('[aria-label=\"Value of year\"]').value = ''")
        window.wait(".panel > details button.main").click()
        assert "number" in window.wait(".wrong").text
        assert all("422" in one for one in window.complaints())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_pages_are_accessible(window, address, size, scheme):
    window.prefer(scheme)
    for where in ("", "#node=1033", "#pair=35,1033", "#new", "docs"):
        show(window, address, where, size)
        window.wait("h2")
        window.script("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert window.barriers() == [], where
        width = window.script("return document.documentElement.scrollWidth")
        assert width <= size[0], where  # nothing sticks out to the side
    assert window.complaints() == []


def test_light_and_dark_can_be_switched(page):
    before = page.script("return getComputedStyle(document.body).backgroundColor")
    page.wait("#theme").click()
    assert page.script("return getComputedStyle(document.body).backgroundColor") != before
    page.driver.refresh()
    page.wait(".panel h2", "cora")
    assert page.script("return document.documentElement.dataset.theme") == "dark"
    page.script("localStorage.clear()")


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_a_regressor_is_explored_as_well(size, cache, window):
    with running(number_model()) as address:
        window.prefer("light")
        show(window, address, "#node=house%2019", size)
        window.wait(".panel h2", "house 19")
        assert "conformal" in window.text("#glance-interval")
        assert "not known" in window.text("#glance-known")
        assert window.barriers() == []
        window.script("document.querySelector('.panel details summary').click()")
        window.script("document.querySelector('details .ticks input[type=checkbox]').click()")
        window.script("document.querySelector('details form').requestSubmit()")
        assert "instead of" in window.wait("#changed-number").text
        show(window, address, "#new", size)
        window.wait(".panel h2", "New node")
        window.script("document.querySelector('.panel form').requestSubmit()")
        window.wait("#new-number", "price")
        assert window.script("return document.documentElement.scrollWidth") <= size[0]
        assert window.complaints() == []
