"""The studio in a real headless Chromium, on pages made of rows."""

import re

import pytest
from playwright.sync_api import expect

from tests.webapp import studio_people as scripts
from tests.webapp.studio_people import PEOPLE, STATES, confirmable, standing

pytestmark = pytest.mark.slow

VIDEO = re.compile(r"/clip/[^/]+/(\?again=\d+)?$")
STILL = re.compile(r"/clip/[^/]+/poster/$")
TIMES = "[...document.querySelectorAll('.tile video')].map((video) => video.currentTime)"
PAUSED = "[...document.querySelectorAll('.tile video')].map((video) => video.paused)"


@pytest.fixture(scope="module")
def people(site):
    """Participants in every state, made at once: state -> their links and primary keys, each to be used once."""
    return site.python(PEOPLE)


def choose(page):
    """A as the best, B as the worst, by the keys, and wait until that can be confirmed."""
    page.keyboard.press("1")
    page.keyboard.press("Shift+Digit2")
    confirmable(page)


def is_saved(page):
    expect(page.get_by_role("heading", name="Thank you, your choice is saved")).to_be_visible()


def test_choosing_by_keyboard(site, visit, people):
    someone = people["review"].pop()
    page = visit(someone["address"])
    confirm, reason = page.get_by_role("button", name="Confirm"), page.locator("#reason")
    expect(confirm).to_be_disabled()
    expect(reason).to_have_text("Choose the best and the worst video first")
    page.keyboard.press("2")
    expect(reason).to_have_text("Now choose the worst video")
    page.keyboard.press("Shift+Digit2")
    expect(reason).to_have_text("Now choose the best video")  # the same clip cannot be both
    page.keyboard.press("5")
    confirmable(page)
    expect(page.locator("[data-slot=best]")).to_contain_text("video E")
    expect(page.locator("[data-slot=worst]")).to_contain_text("video B")
    page.keyboard.press("Enter")
    is_saved(page)
    [[best, worst, client]] = standing(site, someone["pk"])
    assert (best, worst) == ("E", "B") and client["plays"] >= 1 and client["decide_ms"] > 0
    assert client["changes"] == 1 and client["enough"] == 1 and client["viewport"] == 3
    assert set(client["clips"]) == set("ABCDEF") and all(clip["watched_ms"] > 2000 for clip in client["clips"].values())


def test_undo_keeps_the_choice_to_change_it(site, visit, people):
    someone = people["review"].pop()
    page = visit(someone["address"])
    page.locator("#clip-A .pick.best").click()
    page.locator("#clip-C .pick.worst").click()
    page.locator(".why summary").click()
    page.get_by_label("turns over").check()
    page.get_by_label("In your own words").fill("It lies on its back.")
    confirmable(page)
    page.get_by_role("button", name="Confirm").click()
    page.get_by_role("button", name="Take it back").click()
    expect(page.locator("#clip-A input[name=best]")).to_be_checked()
    expect(page.get_by_label("turns over")).to_be_checked()
    page.reload()
    expect(page.locator("#clip-C input[name=worst]")).to_be_checked()
    page.locator("#clip-F .pick.worst").click()
    confirmable(page)
    page.get_by_role("button", name="Confirm").dblclick()
    is_saved(page)
    expect(page.get_by_text("Worst: video F")).to_be_visible()
    assert [vote[:2] for vote in standing(site, someone["pk"])] == [["A", "F"]]


def test_clips_run_together_stop_and_step_together(site, visit, people):
    page = visit(people["review"].pop()["address"])
    page.wait_for_function(f"() => {PAUSED}.every((paused) => !paused)")
    page.wait_for_function(f"() => {TIMES}.every((time) => time > 0.5)")
    apart = f"Math.max(...{TIMES}) - Math.min(...{TIMES})"
    page.wait_for_function(f"() => {apart} < 0.1 || {apart} > 2.5")  # or some are at the loop's seam
    page.keyboard.press("Space")
    page.wait_for_function(f"() => {PAUSED}.every((paused) => paused)")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"() => new Set({TIMES}).size == 1")
    before = page.evaluate(TIMES)[0]
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"() => {TIMES}.every((time) => time < {before} && time > {before} - 0.05)")


def test_enlarging_one_stops_the_others(site, visit, people):
    page = visit(people["review"].pop()["address"])
    page.wait_for_function(f"() => {PAUSED}.every((paused) => !paused)")
    page.get_by_role("button", name="Enlarge video B").click()
    page.wait_for_function(f"() => String({PAUSED}) == 'true,false,true,true,true,true'")
    large, small = (page.locator(f"#clip-{letter} video").bounding_box() for letter in "BA")
    assert large["width"] > 2 * small["width"]
    page.keyboard.press("Escape")
    page.wait_for_function(f"() => {PAUSED}.every((paused) => !paused)")


def test_reduced_motion_starts_nothing(site, visit, people):
    page = visit(people["review"].pop()["address"], reduced_motion="reduce")
    page.wait_for_function("() => ![...document.querySelectorAll('.tile video')].some((video) => video.readyState < 4)")
    page.wait_for_timeout(500)
    assert page.evaluate(PAUSED) == [True] * 6
    page.keyboard.press("Space")
    page.wait_for_function(f"() => {PAUSED}.every((paused) => !paused)")


def test_play_pressed_before_the_clips_were_loaded(site, visit, people):
    page, asked = visit(people["review"].pop()["address"], reduced_motion="reduce"), []
    page.route(STILL, lambda route: None)  # never answered: clips are waited for until the stills had their time
    page.reload(wait_until="commit")
    page.on("request", lambda request: asked.append(request.url) if VIDEO.search(request.url) else None)
    expect(page.locator(".tile[data-load=queued]")).to_have_count(6)  # the scripts run: before them no button does
    page.locator("[data-do=play]").click()
    expect(page.locator(".tile[data-load=ready]")).to_have_count(6)
    page.wait_for_function(f"() => {PAUSED}.every((paused) => !paused)")
    page.wait_for_function(f"() => {TIMES}.every((time) => time > 2)")
    assert len(asked) == len(set(asked)) == 6, "none is loaded again, which would stop it"


def test_a_clip_that_the_browser_stops_runs_again(site, visit, people):
    """The first one leads the others, and would hold all of them where it stands."""
    page = visit(people["review"].pop()["address"])
    page.wait_for_function(f"() => {PAUSED}.every((paused) => !paused)")
    for letter in "AB":
        page.evaluate(f"document.querySelector('#clip-{letter} video').pause()")
        page.wait_for_function(f"() => {PAUSED}.every((paused) => !paused)")


def test_help_by_key(site, visit, people):
    page = visit(people["review"].pop()["address"], reduced_motion="reduce")
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="How this works")).to_be_visible()
    page.keyboard.press("1")
    expect(page.locator("#clip-A input[name=best]")).not_to_be_checked()
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="How this works")).to_be_hidden()


def test_a_clip_that_does_not_load(site, visit, people):
    someone = people["broken"].pop()
    page = visit(someone["address"])
    broken = page.locator(".tile.is-broken")
    expect(broken.get_by_text("This video did not load.")).to_be_visible()
    page.wait_for_function(f"() => {PAUSED}.filter((paused) => !paused).length == 5")  # the others run
    expect(broken.get_by_role("button", name="Tell the researcher")).to_be_hidden()
    broken.get_by_role("button", name="Try again").click()
    broken.get_by_role("button", name="Tell the researcher").click()
    expect(broken.get_by_text("The researcher has been told.")).to_be_visible()
    site.python(f"from pathlib import Path\nPath({someone['clip']!r}[:-3] + 'good').replace({someone['clip']!r})")
    broken.get_by_role("button", name="Try again").click()
    expect(page.locator(".tile.is-broken")).to_have_count(0)


@pytest.mark.parametrize("sockets", [True, False])
def test_the_same_link_in_two_browsers(visit, people, sockets):
    someone = people["review"].pop()
    first, second = visit(someone["address"]), visit(someone["address"], sockets=sockets)
    second.keyboard.press("3")
    first.keyboard.press("1")
    first.keyboard.press("Shift+Digit2")
    confirmable(first)
    first.keyboard.press("Enter")
    expect(first.get_by_text("Best: video A")).to_be_visible()
    expect(second.get_by_text("Best: video A")).to_be_visible()  # told by the websocket, or it asked


def test_a_page_does_not_ask_about_its_own_vote(visit, people):
    someone, questions, late = people["review"].pop(), [], []

    def hold_messages(socket):
        server = socket.connect_to_server()
        server.on_message(lambda message: socket.send(message) if late else None)

    page = visit(someone["address"])
    page.route_web_socket(re.compile("."), hold_messages)
    page.reload()
    page.evaluate(scripts.SHORTEN)
    page.evaluate(scripts.TELL_SOON)
    page.on("request", lambda asked: questions.append(asked.url) if "/live/" in asked.url else None)
    choose(page)
    questions.clear()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Best: video A")).to_be_visible()
    page.wait_for_timeout(1500)
    assert questions == []
    late.append(True)
    other = visit(someone["address"])
    other.get_by_role("button", name="Take it back").click()
    expect(page.get_by_role("button", name="Confirm")).to_be_visible()  # it does ask about what others did


def test_a_page_that_went_on_before_its_vote_was_answered_is_still_told(visit, people):
    """The form that sent the vote is gone when the answer comes."""
    someone, held = people["review"].pop(), []
    page = visit(someone["address"])
    page.route("**/vote/", lambda route: held.append((route, route.fetch())))
    choose(page)
    with page.expect_request("**/vote/") as vote:
        page.keyboard.press("Enter")
    while not held:
        page.wait_for_timeout(50)
    page.evaluate("htmx.trigger(document.getElementById('live'), 'refresh')")
    is_saved(page)
    with page.expect_event("requestfinished", lambda request: request == vote.value):
        for route, answer in held:
            route.fulfill(response=answer)
    visit(someone["address"]).get_by_role("button", name="Take it back").click()
    expect(page.get_by_role("button", name="Confirm")).to_be_visible()


def test_offline_and_back(site, visit, people):
    someone = people["review"].pop()
    page = visit(someone["address"])
    choose(page)
    page.context.set_offline(True)
    expect(page.locator("#connection")).to_contain_text("You are offline")
    page.keyboard.press("Enter")
    expect(page.locator("#connection")).to_contain_text("Nothing is lost")
    page.context.set_offline(False)
    expect(page.locator("#connection")).to_contain_text("Connected again")
    expect(page.locator("#clip-A input[name=best]")).to_be_checked()
    page.get_by_role("button", name="Confirm").click()
    is_saved(page)
    expect(page.get_by_text("Best: video A")).to_be_visible()
    assert len(standing(site, someone["pk"])) == 1
    page.complaints[:] = [said for said in page.complaints if not re.search("ERR_INTERNET|htmx:|object Event", said)]


def test_a_vote_that_is_never_answered_can_be_sent_again(site, visit, people):
    someone = people["review"].pop()
    page = visit(someone["address"])
    choose(page)
    page.evaluate("htmx.config.timeout = 500")
    page.route("**/vote/", lambda route: None)
    page.keyboard.press("Enter")
    expect(page.locator("#connection")).to_contain_text("That did not reach us. Nothing is lost")
    page.unroute("**/vote/")
    page.evaluate("htmx.config.timeout = 30000")
    page.get_by_role("button", name="Confirm").click()
    is_saved(page)
    assert len(standing(site, someone["pk"])) == 1
    page.complaints[:] = [said for said in page.complaints if not re.search("htmx:|object Event", said)]


@pytest.mark.parametrize("status", [pytest.param(500, marks=pytest.mark.exhaustive), 503])
def test_a_page_says_that_its_questions_are_refused_and_that_they_are_answered_again(visit, people, status):
    page = visit(people["review"].pop()["address"], reduced_motion="reduce")
    page.keyboard.press("1")
    banner = page.locator("#connection")
    page.route("**/live/**", lambda route: route.fulfill(status=status, body="no"))
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(banner).to_contain_text("A part of this site does not answer just now. We keep trying; nothing is lost.")
    page.unroute("**/live/**")
    expect(banner).to_contain_text("Connected again. Nothing was lost.")
    expect(page.locator("#clip-A input[name=best]")).to_be_checked()
    page.complaints[:] = [said for said in page.complaints if not re.search(f"{status}|htmx:|object Event", said)]


def test_waiting_gives_way_to_the_videos(site, visit, people):
    someone = people["waiting"].pop()
    page = visit(someone["address"])
    expect(page.get_by_role("heading", name="Six robots are practising")).to_be_visible()
    expect(page.get_by_text("Practice", exact=True)).to_have_count(6)
    page.wait_for_function("() => [...document.querySelectorAll('.early video')].every((video) => !video.paused)")
    page.get_by_role("button", name="Stop motion").click()
    page.wait_for_function("() => [...document.querySelectorAll('.early video')].every((video) => video.paused)")
    site.python(
        "from webapp.studies.models import Participant\nfrom webapp.experiments import events\n"
        f"person = Participant.objects.get(pk={someone['pk']})\nrows.create_round(person)\n"
        "person.experiment.requests.update(status='done')\nrows.open_judgement(person)\n"
        "events.emit(person.experiment, 'judge', public=True)"
    )
    expect(page.locator("#ballot")).to_be_visible()
    expect(page).to_have_title(re.compile("Your turn"))
    page.wait_for_function(f"() => {PAUSED}.every((paused) => !paused)")


@pytest.mark.parametrize("state", STATES)
def test_every_page_fits_every_width(visit, people, state):
    page = visit(people[state][-1]["address"], reduced_motion="reduce")
    for width in (320, 390, 820, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(100)
        page.wait_for_function("(width) => document.documentElement.scrollWidth <= width", arg=width, timeout=5_000)
        for control in page.locator("button:visible, a.button:visible, label.pick:visible, summary:visible").all():
            box = control.bounding_box()
            assert box["height"] >= 24 and box["width"] >= 24, control.inner_text()  # WCAG 2.2, 2.5.8


# --- watched for long enough ------------------------------------------------------------------------------------


def test_a_choice_is_confirmed_only_after_watching(site, visit, people):
    page = visit(people["review"].pop()["address"], reduced_motion="reduce")
    page.keyboard.press("1")
    page.keyboard.press("Shift+Digit2")
    expect(page.locator("#reason")).to_have_text("Watch every video for 3 seconds first")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Confirm")).to_be_disabled()
    page.keyboard.press("Space")
    confirmable(page)
    page.reload()
    confirmable(page)  # what was watched is not to be watched again


def test_on_a_phone_only_what_is_in_view_counts(site, visit, people):
    page = visit(people["review"].pop()["address"], viewport={"width": 390, "height": 844}, has_touch=True)
    contact = page.get_by_role("navigation", name="All videos")
    expect(contact.get_by_role("link", name="Video A, watched")).to_be_visible()
    page.locator("#clip-A .pick.best").tap()
    contact.get_by_role("link", name="Video C").tap()
    expect(contact.get_by_role("link", name="Video C, watched")).to_be_visible()
    page.locator("#clip-C .pick.worst").tap()
    expect(page.locator("#reason")).to_have_text("Watch B, D, E, F for 3 seconds first")
    expect(page.get_by_role("button", name="Confirm")).to_be_disabled()


@pytest.mark.parametrize("size", [pytest.param((390, 844), marks=pytest.mark.exhaustive), (360, 640)])
def test_the_dock_of_a_phone_leaves_two_thirds_to_the_video(visit, people, size):
    phone = {"viewport": {"width": size[0], "height": size[1]}, "has_touch": True, "is_mobile": True}
    page = visit(people["review"][-1]["address"], reduced_motion="reduce", **phone)
    expect(page.locator("#reason")).to_have_text("Choose the best and the worst video first")
    ordinary = page.evaluate(scripts.DOCK)
    page.locator("#clip-A .pick.best").tap()
    page.locator("#clip-B .pick.worst").tap()
    chosen = page.evaluate(scripts.DOCK)
    page.evaluate(scripts.LENGTHEN)
    for dock in (ordinary, chosen, page.evaluate(scripts.DOCK)):
        assert dock["share"] <= 1 / 3 and not (dock["cut"] or dock["below"] or dock["wide"])


def test_something_is_wrong_with_the_videos(site, visit, people):
    someone = people["review"].pop()
    page = visit(someone["address"], reduced_motion="reduce")
    page.keyboard.press("1")
    page.get_by_text("Can’t judge?").click()
    page.get_by_label("I can’t tell these apart").check()
    page.get_by_label("Something is wrong with the videos").check()
    expect(page.get_by_label("I can’t tell these apart")).not_to_be_checked()
    expect(page.locator("#clip-A input[name=best]")).not_to_be_checked()
    page.get_by_role("button", name="Confirm").click()  # nobody need watch what does not play
    expect(page.get_by_text("something is wrong with the videos. The researcher has been told.")).to_be_visible()
    said = site.python(
        "from webapp.studies.models import Participant\n"
        f"events = Participant.objects.get(pk={someone['pk']}).experiment.events.all()\n"
        "out['kinds'] = list(events.values_list('kind', flat=True))"
    )
    assert "reported" in said["kinds"]


def test_on_a_slow_line_one_video_after_another(site, visit, people):
    """The browser says that data is to be saved; every video can be watched as soon as it is there."""
    someone = people["review"].pop()
    page = visit("/")
    page.add_init_script("Object.defineProperty(navigator, 'connection', { value: { saveData: true } })")
    asked = []
    page.route(VIDEO, lambda route: asked.append(route.request.url))  # and never answered
    page.goto(site.url + someone["address"])
    expect(page.get_by_text("the videos load one after another")).to_be_visible()
    expect(page.get_by_text("Waits for its turn")).to_have_count(5)
    assert len({url.partition("?")[0] for url in asked}) == 1, "the others wait"
    page.unroute_all(behavior="ignoreErrors")
    page.reload()
    page.wait_for_function(f"() => {PAUSED}.every((paused) => !paused)")
    expect(page.get_by_text("Waits for its turn")).to_have_count(0)


def test_a_clip_is_asked_for_again_by_itself(site, visit, people):
    page = visit("/")
    failures = []

    def fail_twice(route):
        failures.append(route.request.url)
        route.abort() if len(failures) <= 2 else route.continue_()

    page.route(VIDEO, fail_twice)
    page.goto(site.url + people["review"].pop()["address"])
    page.wait_for_function(f"() => {PAUSED}.length === 6 && {PAUSED}.every((paused) => !paused)")
    assert len(failures) >= 8 and any("again=1" in url for url in failures)
    page.complaints[:] = [said for said in page.complaints if "ERR_FAILED" not in said]


@pytest.mark.parametrize("state", [pytest.param("consent", marks=pytest.mark.exhaustive), "waiting", "review"])
def test_the_first_page_is_light(visit, people, state):
    """Under 100 kB with an empty cache, without videos."""
    page = visit("/")
    page.goto("about:blank")
    line = page.context.new_cdp_session(page)
    line.send("Network.enable")
    line.send("Network.clearBrowserCache")
    video, sizes = set(), {}  # stills are a part of the videos
    line.on(
        "Network.requestWillBeSent", lambda said: "/clip/" in said["request"]["url"] and video.add(said["requestId"])
    )
    line.on("Network.loadingFinished", lambda said: sizes.update({said["requestId"]: said["encodedDataLength"]}))
    page.goto(page.site + people[state][-1]["address"], wait_until="load")
    assert len(sizes) > 5
    assert sum(size for request, size in sizes.items() if request not in video) < 100_000


def test_own_words_choose_their_option_and_survive_a_reload(visit, site):
    made = site.python(scripts.ASKED)
    page = visit(made["address"])
    words, other = page.locator(".own-words"), page.get_by_role("radio", name="Other")
    since = page.get_by_label("What about since?")
    expect(since).to_be_hidden()
    words.fill("Pilot")
    expect(other).to_be_checked()
    since.fill("1999")
    page.reload()
    expect(words).to_have_value("Pilot")
    expect(other).to_be_checked()
    expect(since).to_have_value("1999")
    page.get_by_role("radio", name="Student").check()
    expect(since).to_be_hidden()
    words.fill("Pilot of kites")
    page.get_by_role("button", name="Send my answers").click()
    expect(page.locator("#live")).to_have_attribute("data-state", "waiting")
    sent = site.python(f"STUDY = {made['study']}\n{scripts.ANSWERED}")["values"]
    assert sent == {"job": {"codes": 3, "text": "Pilot of kites"}, "since": 1999}
