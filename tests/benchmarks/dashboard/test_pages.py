"""Every page shows what the record holds, as text, to those who may see it; forms come from its own pages alone."""

import html
import re
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from palaestra.benchmarks.dashboard import Dashboard, make_dashboard_app
from palaestra.benchmarks.dashboard.line_chart import MOST_POINTS, line_chart, thin_out
from palaestra.benchmarks.dashboard.markup import MOST_CHARACTERS, block, element, isolate, text
from palaestra.benchmarks.dashboard.visitor import local_path
from palaestra.benchmarks.record import RecordDatabase, find_sources, import_run, prepare, run_summaries
from palaestra.serving.access import KeyScope, make_key, with_keys, write_keys
from palaestra.trajectory import Episode
from recorded import made_results, write_episode_file, write_journal, write_made_evaluation, write_training

EpisodeFactory = Callable[..., Episode]
HOSTILE = [
    "</pre></main><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "<svg/onload=alert(1)>&lt;script&gt;&#60;b&#62;",
    "<!--",
    "]]>",
    "javascript:alert(1)",
    "<style>*{display:none}</style>",
    "<base href=//evil.example>",
    "\u202eright to left\u202c and \u2066isolated",
    "NUL \0 and escape \x1b[2J",
    "\U0001f600 \u0627\u0644\u0639\u0631\u0628\u064a\u0629",
]
PAGES = ("/", "/runs/1", "/runs/2", "/runs/3", "/compare?first=1&second=2", "/episodes", "/episodes/1", "/episodes/17")
ALLOWED = {
    *("html", "head", "meta", "title", "link", "body", "a", "header", "strong", "nav", "ul", "li", "main", "h1", "h2"),
    *("h3", "h4", "p", "bdi", "section", "div", "table", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd", "span"),
    *("pre", "code", "details", "summary", "form", "input", "label", "select", "option", "datalist", "button"),
    *("figure", "figcaption", "svg", "g", "line", "polyline", "text"),
}


class Tags(HTMLParser):
    """The elements of a page, as a browser would find them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.headings: list[int] = []
        self.words = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def handle_data(self, data: str) -> None:
        self.words += data


def fill(database: RecordDatabase, folder: Path, episodes: list[Episode]) -> None:
    prepare(database)
    write_made_evaluation(folder / "a", "first")
    write_made_evaluation(folder / "b", "second")
    write_training(folder / "train", episodes[:1])
    write_episode_file(folder / "loose.jsonl", episodes)
    for name in ("a", "b", "train", "loose.jsonl"):
        (source,) = find_sources(folder / name, name=name)
        import_run(database, source)


@pytest.fixture
def database(make_episode: EpisodeFactory, tmp_path: Path) -> Generator[RecordDatabase]:
    opened = RecordDatabase(str(tmp_path / "record.db"))
    fill(opened, tmp_path / "runs", [make_episode(index=index) for index in range(2)])
    yield opened
    opened.close()


def client_of(database: RecordDatabase, key_file: Path | None = None, *, base: str = "http://127.0.0.1") -> TestClient:
    app = make_dashboard_app(Dashboard(database, key_file=key_file))
    return TestClient(app, base_url=base, follow_redirects=False)


@pytest.fixture
def client(database: RecordDatabase) -> TestClient:
    return client_of(database)


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_plain_html_with_headings_in_order(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    found = Tags(answer.text)
    assert {*found.tags} <= ALLOWED
    assert found.headings[0] == 1
    assert found.headings.count(1) == 1
    assert all(later - former <= 1 for former, later in zip(found.headings, found.headings[1:], strict=False))
    assert not [name for name, _ in found.attributes if name.startswith("on") or name == "style"]
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'; form-action 'self';")
    assert "script" not in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


def test_pages_show_results_intervals_curves_criteria_and_turns(client: TestClient) -> None:
    evaluation = Tags(client.get("/runs/1").text).words
    assert "cell base4450.0, 4 tasks: 100.0, 0.0, 100.0, 0.0" in evaluation
    training = client.get("/runs/3").text
    assert training.count("<polyline") == 4
    assert "The entropy is &lt;low&gt;." in training
    comparison = Tags(client.get("/compare?first=1&second=2").text).words
    assert "first against second on Made up: solved, %" in comparison
    episode = Tags(client.get("/episodes/17").text).words
    assert "Turn 1+1 reward (selection +1)" in episode
    assert "The damaged item was refunded in full." in episode
    assert "issue_refund refused: not_allowed" in episode
    assert "Only the outcome of this episode was kept" in client.get("/episodes/1").text


def test_criteria_show_what_each_gave_or_took_beside_its_weight(
    make_episode: EpisodeFactory, database: RecordDatabase, tmp_path: Path
) -> None:
    episode = make_episode()
    path = write_episode_file(tmp_path / "one.jsonl", [episode])
    import_run(database, find_sources(path, name="one")[0])
    page = client_of(database).get("/episodes/22").text
    given = [int(one) for one in re.findall('data-label="points"[^>]*><bdi>([^<]*)<', page)]
    weights = [int(one) for one in re.findall('data-label="weight"[^>]*><bdi>([^<]*)<', page)]
    kinds = {one.id: one.kind for one in episode.rubric}
    assert sum(given) == episode.score.points
    assert weights == [one.points if one.kind == "expect" else -one.points for one in episode.rubric]
    for own, weight, (name, verdict) in zip(given, weights, episode.score.verdicts.items(), strict=True):
        assert own == (weight if verdict.met else 0)
        assert (weight < 0) == (kinds[name] == "forbid")


def test_search_finds_by_task_family_and_criterion(client: TestClient) -> None:
    def found(query: str) -> int:
        return client.get(f"/episodes?{query}").text.count('<tr role="row"><th scope="row"')

    assert (found("run=1"), found("task=refund/0"), found("family=damaged")) == (8, 4, 5)
    assert (found("criterion=refunded&verdict=counts"), found("criterion=refunded&outcome=fault")) == (8, 0)
    assert (found("run="), found("task=" + "%2525"), found("run=99")) == (21, 0, 0)
    assert (found("run=1&verdict=counts"), found("run=1&verdict=not")) == (7, 3)


def test_long_lists_are_in_pages(make_episode: EpisodeFactory, database: RecordDatabase, tmp_path: Path) -> None:
    path = write_episode_file(tmp_path / "many.jsonl", [make_episode()] * 120)
    import_run(database, find_sources(path, name="many")[0])
    client = client_of(database)
    assert "Episodes 1 to 50 of 120" in client.get("/episodes?run=5").text
    last = client.get("/episodes?run=5&page=3").text
    assert "Episodes 101 to 120 of 120" in last
    assert "Previous page" in last
    assert "Next page" not in last
    assert "There is no such episode." in client.get("/episodes?run=5&page=9").text


@pytest.mark.parametrize("path", ["/nix", "/runs/99", "/runs/99999999999999999999", "/episodes/99", "/episodes/1/json"])
def test_what_is_not_there_is_a_page_that_says_so(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert "<h1>" in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/runs/abc", 422), ("/episodes?page=0", 422), ("/episodes?task=" + "x" * 501, 422),
        ("/compare?first=1&second=3", 422), ("/compare?first=1&second=2&measure=luck", 400),
        ("/compare?first=0&second=2", 422), ("/compare?first=1&second=99", 404), ("/episodes?task=%ff%00%ed%a0", 200),
        ("/episodes?outcome=zzz", 422), ("/episodes?verdict=zzz", 422), ("/episodes?run=abc", 422),
        ("/episodes?run=-1", 422), ("/episodes?run=1%0a", 422), ("/episodes?outcome=Solved", 422),
        ("/runs/3?curves=zzz", 422), ("/?refresh=zzz", 422), ("/episodes?outcome=&verdict=&run=", 200),
    ],
)  # fmt: skip
def test_a_bad_address_is_a_page_that_says_so(client: TestClient, path: str, status: int) -> None:
    assert client.get(path).status_code == status


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_is_shown_as_text_wherever_it_stands(
    make_episode: EpisodeFactory, tmp_path: Path, hostile: str
) -> None:
    episode = make_episode(text=hostile)
    rubric = tuple(replace(one, text=hostile) for one in episode.rubric)
    named = replace(episode, agent=hostile, rubric=rubric, task=replace(episode.task, id=hostile, family=hostile))
    database = RecordDatabase(str(tmp_path / "record.db"))
    fill(database, tmp_path / "runs", [named])
    (tmp_path / "runs" / "a.jsonl").write_bytes((tmp_path / "runs" / "loose.jsonl").read_bytes())
    import_run(database, find_sources(tmp_path / "runs" / "a.jsonl", name=hostile)[0])
    client = client_of(database)
    shown = 0
    for path in ("/", "/runs/4", "/runs/5", "/episodes", "/episodes/17", "/episodes/20", "/runs/3"):
        answer = client.get(path)
        assert answer.status_code == 200, path
        found = Tags(answer.text)
        assert {*found.tags} <= ALLOWED
        assert not [name for name, _ in found.attributes if name.startswith("on") or name == "style"]
        assert not [value for name, value in found.attributes if name == "href" and not value.startswith(("/", "#"))]
        assert not re.search("[\\x00-\\x08\\x1b\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]", found.words)
        shown += found.words.count(re.sub("[^ -~]", "", hostile)) if hostile.isascii() and hostile.isprintable() else 1
    assert shown > 0
    database.close()


def test_a_megabyte_of_text_is_cut_on_the_page_and_whole_in_the_json(
    make_episode: EpisodeFactory, tmp_path: Path
) -> None:
    episode = make_episode(text="<b>" * 350_000)
    database = RecordDatabase(str(tmp_path / "record.db"))
    fill(database, tmp_path / "runs", [episode])
    client = client_of(database)
    page = client.get("/episodes/20")
    assert page.status_code == 200
    assert f"{1_050_000 - MOST_CHARACTERS:,} more characters" in page.text
    assert len(page.text) < 2_000_000
    whole = client.get("/episodes/20/json")
    assert whole.headers["content-type"] == "application/json"
    assert whole.headers["content-disposition"].startswith("attachment;")
    assert "<b>" * 350_000 in whole.text
    database.close()


def test_markup_escapes_all_that_it_did_not_make() -> None:
    assert element("p", "<b>", element("b", "&"), title='"<') == '<p title="&quot;&lt;">&lt;b&gt;<b>&amp;</b></p>'
    assert text("a\u202eb\0") == ('a<span class="code-point">U+202E</span>b<span class="code-point">U+0000</span>')
    assert text("\uf8ff41\uf8ff") == "\ufffd41\ufffd"
    assert isolate("\ud800") == '<bdi><span class="code-point">U+D800</span></bdi>'
    assert 'dir="auto"' in block("x")


@pytest.mark.parametrize(
    "values", [[1.0], [0.0, 0.0], [1e308, -1e308], [1e-300, 2e-300], list(map(float, range(1_000)))]
)
def test_a_curve_of_any_values_is_drawn_within_its_frame(values: list[float]) -> None:
    points = list(enumerate(values, 1))
    drawn = line_chart(points, title="<loss>")
    (path,) = re.findall('points="([^"]*)"', drawn)
    places = [tuple(map(float, one.split(","))) for one in path.split()]
    assert all(0 <= x <= 345 and 0 <= y <= 150 for x, y in places)
    assert 2 <= len(places) <= MOST_POINTS
    assert "&lt;loss&gt;" in drawn
    assert thin_out(points)[1][-1][0] == len(values)


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    """Keys by scope, in a file."""
    made = {
        scope.value: make_key("anna", [scope], now=time.time(), lifetime=None if scope != KeyScope.READ else 3_600.0)
        for scope in KeyScope
    }
    made["expired"] = make_key("anna", [KeyScope.ADMIN], now=0.0, lifetime=1.0)
    write_keys(tmp_path / "keys.json", with_keys(None, [record for _, record in made.values()]))
    return {name: token for name, (token, _) in made.items()}


@pytest.fixture
def guarded(database: RecordDatabase, keys: dict[str, str], tmp_path: Path) -> TestClient:
    assert keys
    return client_of(database, tmp_path / "keys.json", base="http://board.example")


EVERY_PAGE = (*PAGES, "/episodes/17/json", "/nix")


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("key", [None, "", "nonsense", "expired", "play", "author"])
def test_without_a_key_that_may_read_no_page_answers(
    guarded: TestClient, keys: dict[str, str], path: str, key: str | None
) -> None:
    headers = {} if key is None else {"Authorization": f"Bearer {keys.get(key, key)}"}
    answer = guarded.get(path, headers=headers)
    assert answer.status_code == (403 if key in ("play", "author") else 401)
    assert "cell base" not in answer.text
    assert "ORD-1" not in answer.text
    assert guarded.get(path, headers={"Authorization": f"Bearer {keys['read']}"}).status_code == 200


def form_of(client: TestClient, path: str) -> str:
    (token, *_) = re.findall('name="form_token" value="([0-9a-f]{64})"', client.get(path).text)
    return str(token)


def sign_in(client: TestClient, key: str) -> None:
    token = form_of(client, "/sign-in")
    answer = client.post("/sign-in", data={"form_token": token, "key": key})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_a_browser_signs_in_once_and_out_again(guarded: TestClient, keys: dict[str, str]) -> None:
    browser = {"Accept": "text/html"}
    sent = guarded.get("/", headers=browser)
    assert (sent.status_code, sent.headers["location"]) == (303, "/sign-in")
    token = form_of(guarded, "/sign-in")
    for wrong in ("", keys["play"], keys["expired"], "nonsense"):
        assert guarded.post("/sign-in", data={"form_token": token, "key": wrong}).status_code == 401
    former = guarded.cookies["palaestra_dashboard"]
    sign_in(guarded, keys["read"])
    assert guarded.cookies["palaestra_dashboard"] != former
    assert "Sign out anna" in guarded.get("/").text
    cookie = guarded.get("/sign-in").request.headers["cookie"]
    token = form_of(guarded, "/")
    assert guarded.post("/sign-out", data={"form_token": token}).status_code == 303
    assert guarded.get("/", headers={"Cookie": cookie}).status_code == 401


def test_a_browser_that_signed_in_goes_where_it_wanted_to(guarded: TestClient, keys: dict[str, str]) -> None:
    wanted = "/episodes?run=2&task=a%26b"
    sent = guarded.get(wanted, headers={"Accept": "text/html"})
    page = guarded.get(sent.headers["location"]).text
    (to,) = re.findall('name="to" value="([^"]*)"', page)
    assert html.unescape(to) == wanted
    data = {"form_token": form_of(guarded, "/sign-in"), "to": html.unescape(to)}
    again = guarded.post("/sign-in", data={**data, "key": "wrong"})
    assert again.status_code == 401
    assert f'name="to" value="{to}"' in again.text
    answer = guarded.post("/sign-in", data={**data, "key": keys["read"]})
    assert (answer.status_code, answer.headers["location"]) == (303, wanted)
    assert guarded.get(wanted).status_code == 200


FOREIGN = [
    *("//evil.example", "/\\evil.example", "\\\\evil.example", "https:", "https://evil.example", "https:/evil.example"),
    *(
        "/\t/evil.example",
        "\t//evil.example",
        "/\n/evil.example",
        "/\r\nSet-Cookie: a=b",
        "javascript:alert(1)",
        "evil",
    ),
    *("", "?a", "#a", "/" * 3, "/a\\..\\evil", "/" + "a" * 2_000, "/\u2028", "/é", " /a", "/\0/evil.example"),
]


@pytest.mark.parametrize("wanted", FOREIGN)
def test_signing_in_leads_to_no_other_server(guarded: TestClient, keys: dict[str, str], wanted: str) -> None:
    assert local_path(wanted) == "/"
    page = guarded.get("/sign-in", params={"to": wanted}).text
    assert 'name="to" value="/"' in page
    token = form_of(guarded, "/sign-in")
    answer = guarded.post("/sign-in", data={"form_token": token, "key": keys["read"], "to": wanted})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_only_a_run_that_goes_on_is_live(database: RecordDatabase, tmp_path: Path) -> None:
    first = client_of(database).get("/").text
    assert "4 runs, 0 of them live" in first
    assert ">live<" not in first
    write_journal(tmp_path / "runs" / "half", made_results("third"), 3)
    write_training(tmp_path / "runs" / "short", [], steps=2)
    for name in ("half", "short"):
        import_run(database, find_sources(tmp_path / "runs" / name, name=name)[0])
    client = client_of(database)
    assert "6 runs, 2 of them live" in client.get("/").text
    assert [">live<" in client.get(f"/runs/{number}").text for number in range(1, 7)] == [False] * 4 + [True] * 2
    later = Dashboard(database, now=lambda: time.time() + 3_600)
    with database.read() as session:
        assert not any(later.is_live(session, run) for run in run_summaries(session))


def test_a_cookie_is_for_this_site_alone_and_out_of_reach_of_scripts(guarded: TestClient) -> None:
    given = guarded.get("/sign-in").headers["set-cookie"].lower()
    assert "httponly" in given
    assert "samesite=strict" in given
    assert "secure" not in given.replace("samesite", "")
    guarded.cookies.clear()
    behind_proxy = guarded.get("/sign-in", headers={"X-Forwarded-Proto": "https"}).headers["set-cookie"].lower()
    assert "; secure" in behind_proxy


def test_a_revoked_key_ends_its_sessions(guarded: TestClient, keys: dict[str, str], tmp_path: Path) -> None:
    sign_in(guarded, keys["read"])
    assert guarded.get("/").status_code == 200
    write_keys(tmp_path / "keys.json", with_keys(None, []))
    assert guarded.get("/").status_code == 401


def runs_of(database: RecordDatabase) -> int:
    with database.read() as session:
        return len(run_summaries(session))


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:99"},
        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Content-Type": "text/plain"},
    ],
)  # fmt: skip
def test_a_form_of_another_site_writes_nothing(
    client: TestClient, database: RecordDatabase, headers: dict[str, str]
) -> None:
    token = form_of(client, "/runs/1")
    answer = client.post("/runs/1/remove", data={"form_token": token}, headers=headers)
    assert answer.status_code in (400, 403)
    assert runs_of(database) == 4


@pytest.mark.parametrize("token", ["", "0" * 64, "ключ", "other"])
def test_a_form_without_its_token_writes_nothing(client: TestClient, database: RecordDatabase, token: str) -> None:
    client.get("/")
    if token == "other":  # noqa: S105
        token = form_of(client_of(database), "/runs/1")
    assert client.post("/runs/1/remove", data={"form_token": token}).status_code == 403
    assert client.post("/runs/1/remove", content=b"x" * 10_000).status_code in (400, 403, 413)
    assert runs_of(database) == 4


def test_the_page_of_a_run_removes_it(client: TestClient, database: RecordDatabase) -> None:
    token = form_of(client, "/runs/1")
    answer = client.post("/runs/1/remove", data={"form_token": token}, headers={"Origin": "http://127.0.0.1"})
    assert answer.status_code == 303
    assert runs_of(database) == 3
    assert client.get("/runs/1").status_code == 404


def test_only_an_administrator_removes(guarded: TestClient, keys: dict[str, str], database: RecordDatabase) -> None:
    sign_in(guarded, keys["read"])
    assert "Remove this run" not in guarded.get("/runs/1").text
    token = form_of(guarded, "/runs/1")
    assert guarded.post("/runs/1/remove", data={"form_token": token}).status_code == 403
    assert runs_of(database) == 4
    sign_in(guarded, keys["admin"])
    token = form_of(guarded, "/runs/1")
    assert guarded.post("/runs/1/remove", data={"form_token": token}).status_code == 303
    assert runs_of(database) == 3


def test_without_keys_only_this_machine_is_answered(database: RecordDatabase) -> None:
    assert client_of(database, base="http://rebound.example").get("/").status_code == 403
    assert client_of(database, base="http://localhost").get("/").status_code == 200


def test_a_page_loads_itself_again_only_where_it_was_asked_to(client: TestClient) -> None:
    assert "refresh" not in client.get("/").headers
    assert client.get("/?refresh=1").headers["refresh"] == "10"
    assert client.get("/runs/3?refresh=1").headers["refresh"] == "10"
