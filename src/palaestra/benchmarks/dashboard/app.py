"""The web application of the dashboard: a route for each page, and three forms that write."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

import orjson
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from palaestra.benchmarks.dashboard.comparison_page import comparison_content, comparison_form
from palaestra.benchmarks.dashboard.dashboard import Dashboard
from palaestra.benchmarks.dashboard.episode_page import episode_content
from palaestra.benchmarks.dashboard.layout import SECURITY_HEADERS, field, form, page, set_cookie, style_sheet
from palaestra.benchmarks.dashboard.markup import Html, address, element, join
from palaestra.benchmarks.dashboard.run_page import find_run, run_content
from palaestra.benchmarks.dashboard.runs_page import runs_content
from palaestra.benchmarks.dashboard.search_page import search_content
from palaestra.benchmarks.dashboard.visitor import NOBODY, Visitor, guest_of, local_path, read_form, visitor_of
from palaestra.benchmarks.record import EpisodeFilter, remove_run
from palaestra.benchmarks.record.queries import OutcomeChoice, VerdictChoice, episode_summary, read_transcript
from palaestra.errors import (
    AccessError,
    ConfigError,
    KeyScopeError,
    PalaestraError,
    RequestError,
    StorageError,
    UnknownNameError,
)
from palaestra.serving.access import KeyScope
from palaestra.trajectory import dump_episode
from palaestra.validation import plain_rule
from palaestra.version import __version__

_STATUS: tuple[tuple[type[PalaestraError], int], ...] = (
    (KeyScopeError, 403),
    (AccessError, 403),
    (UnknownNameError, 404),
    (RequestError, 400),
    (ConfigError, 400),
    (StorageError, 503),
)
_LARGEST = 2**31 - 1
Number = Annotated[int | None, Query(ge=1, le=_LARGEST)]
Words = Annotated[str, Query(max_length=500)]
PageNumber = Annotated[int, Query(ge=1, le=1_000_000)]


def make_dashboard_app(dashboard: Dashboard) -> FastAPI:
    """Make the application that shows a record."""
    app = FastAPI(title="Palaestra record", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    style = style_sheet()

    @app.middleware("http")
    async def secure(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:  # pyright: ignore[reportUnusedFunction]
        answer = await proceed(request)
        answer.headers.update(SECURITY_HEADERS)
        return answer

    @app.get("/style.css")
    def get_style() -> Response:  # pyright: ignore[reportUnusedFunction]
        return Response(style, media_type="text/css")

    @app.get("/health")
    def get_health() -> Response:  # pyright: ignore[reportUnusedFunction]
        return Response(b'{"status":"ok"}', media_type="application/json")

    _add_errors(app, dashboard)
    _add_pages(app, dashboard)
    _add_episodes(app, dashboard)
    _add_forms(app, dashboard)
    return app


def _is_secure(request: Request) -> bool:
    return "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))


def _add_pages(app: FastAPI, dashboard: Dashboard) -> None:
    @app.get("/")
    def get_runs(request: Request, refresh: bool = False) -> Response:  # noqa: FBT001, FBT002  # pyright: ignore[reportUnusedFunction]
        visitor = visitor_of(request, dashboard)
        with dashboard.database.read() as session:
            content = runs_content(session, dashboard, refreshes=refresh)
        return _show(request, dashboard, visitor, "Runs", content, here="/", refreshes=refresh)

    @app.get("/runs/{run}")
    def get_run(  # pyright: ignore[reportUnusedFunction]
        request: Request,
        run: int,
        curves: Literal["", "all"] = "",
        refresh: bool = False,  # noqa: FBT001, FBT002
    ) -> Response:
        visitor = visitor_of(request, dashboard)
        with dashboard.database.read() as session:
            found = find_run(session, _check_number(run))
            content = run_content(session, dashboard, visitor, found, curves=curves, refreshes=refresh)
        return _show(request, dashboard, visitor, found.name, content, here="/", refreshes=refresh)

    @app.get("/compare")
    def get_comparison(  # pyright: ignore[reportUnusedFunction]
        request: Request, first: Number = None, second: Number = None, measure: Words = "solved"
    ) -> Response:
        visitor = visitor_of(request, dashboard)
        with dashboard.database.read() as session:
            content = [comparison_form(session, first=first, second=second, measure=measure)]
            status = 200
            if first is not None and second is not None:
                try:
                    content += comparison_content(session, dashboard, first, second, measure)
                except PalaestraError as error:
                    status = _status(error)
                    content.append(element("p", str(error), class_="lead", role="alert"))
        return _show(request, dashboard, visitor, "Compare", content, here="/compare", status=status)


def _add_episodes(app: FastAPI, dashboard: Dashboard) -> None:
    @app.get("/episodes")
    def get_episodes(  # pyright: ignore[reportUnusedFunction]
        request: Request,
        run: Annotated[str, Query(pattern="^([1-9][0-9]{0,8})?$")] = "",
        task: Words = "",
        family: Words = "",
        criterion: Words = "",
        verdict: VerdictChoice = "",
        outcome: OutcomeChoice = "",
        page_: Annotated[int, Query(ge=1, le=1_000_000, alias="page")] = 1,
    ) -> Response:
        visitor = visitor_of(request, dashboard)
        chosen = int(run) if run else None
        wanted = EpisodeFilter(
            run=chosen, task=task, family=family, criterion=criterion, verdict=verdict, outcome=outcome
        )
        with dashboard.database.read() as session:
            content = search_content(session, wanted, number=page_)
        return _show(request, dashboard, visitor, "Episodes", content, here="/episodes")

    @app.get("/episodes/{episode}")
    def get_episode(request: Request, episode: int) -> Response:  # pyright: ignore[reportUnusedFunction]
        visitor = visitor_of(request, dashboard)
        with dashboard.database.read() as session:
            summary = episode_summary(session, _check_number(episode))
            found = read_transcript(session, episode)
        content = episode_content(summary, found)
        return _show(request, dashboard, visitor, summary.task or summary.key, content, here="/episodes")

    @app.get("/episodes/{episode}/json")
    def get_json(request: Request, episode: int) -> Response:  # pyright: ignore[reportUnusedFunction]
        visitor_of(request, dashboard)
        with dashboard.database.read() as session:
            found = read_transcript(session, _check_number(episode))
        if found is None:
            raise UnknownNameError(f"there are no turns of episode {episode} in this record")
        headers = {"Content-Disposition": f'attachment; filename="episode-{episode}.json"'}
        return Response(dump_episode(found), media_type="application/json", headers=headers)


def _add_forms(app: FastAPI, dashboard: Dashboard) -> None:
    @app.get("/sign-in")
    def get_sign_in(request: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        return _sign_in(request, dashboard, local_path(request.query_params.get("to", "")), "")

    @app.post("/sign-in")
    async def sign_in(request: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        guest_of(request, dashboard)
        fields = await read_form(request, dashboard)
        key, wanted = fields.get("key", "").strip(), local_path(fields.get("to", ""))
        try:
            if dashboard.keys is not None:
                dashboard.keys.authenticate(key).require(KeyScope.READ)
        except AccessError as error:
            return _sign_in(request, dashboard, wanted, str(error))
        answer = RedirectResponse(wanted, 303)
        set_cookie(answer, dashboard.sign_ins.sign_in(key), is_secure=_is_secure(request))
        return answer

    @app.post("/sign-out")
    async def sign_out(request: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        visitor = guest_of(request, dashboard)
        await read_form(request, dashboard)
        dashboard.sign_ins.sign_out(visitor.cookie)
        return RedirectResponse("/sign-in", 303)

    @app.post("/runs/{run}/remove")
    async def remove(request: Request, run: int) -> Response:  # pyright: ignore[reportUnusedFunction]
        visitor = visitor_of(request, dashboard)
        visitor.caller.require(KeyScope.ADMIN)
        await read_form(request, dashboard)
        await run_in_threadpool(_remove, dashboard, _check_number(run))
        return RedirectResponse("/", 303)


def _remove(dashboard: Dashboard, run: int) -> None:
    with dashboard.database.read() as session:
        name = find_run(session, run).name
    remove_run(dashboard.database, name)


def _check_number(number: int) -> int:
    if not 0 < number <= _LARGEST:
        raise UnknownNameError(f"there is no number {str(number)[:40]} in this record; numbers are from 1 on")
    return number


def _sign_in(request: Request, dashboard: Dashboard, wanted: str, fault: str) -> Response:
    guest = guest_of(request, dashboard)
    to = element("input", type="hidden", name="to", value=wanted)
    key = field("Key", "key", type="password", required="", spellcheck="false")
    fields = form(
        "/sign-in", join([to, key, element("button", "Sign in", class_="first")]), dashboard, guest, class_="fields"
    )
    hint = "A key with the scope read. `palaestra keys add FILE NAME --scope read` makes one."
    words = [element("p", fault, class_="lead", role="alert")] if fault else []
    return _show(
        request,
        dashboard,
        guest,
        "Sign in",
        [element("p", hint, class_="lead"), *words, fields],
        status=401 if fault else 200,
    )


def _show(
    request: Request,
    dashboard: Dashboard,
    visitor: Visitor,
    title: str,
    content: list[Html],
    *,
    here: str = "",
    refreshes: bool = False,
    status: int = 200,
) -> Response:
    return page(
        title,
        *content,
        dashboard=dashboard,
        visitor=visitor,
        here=here,
        refreshes=refreshes,
        status=status,
        is_secure=_is_secure(request),
    )


def _status(error: PalaestraError) -> int:
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 422)


def _add_errors(app: FastAPI, dashboard: Dashboard) -> None:
    def show(request: Request, title: str, words: str, status: int) -> Response:
        try:
            visitor = visitor_of(request, dashboard)
        except AccessError:
            visitor = Visitor(caller=NOBODY, cookie="", is_new=False, has_session=False)
        return _show(request, dashboard, visitor, title, [element("p", words, class_="lead")], status=status)

    @app.exception_handler(PalaestraError)
    async def refuse(request: Request, error: PalaestraError) -> Response:  # pyright: ignore[reportUnusedFunction]
        is_browser = "text/html" in request.headers.get("accept", "")
        if isinstance(error, AccessError) and not isinstance(error, KeyScopeError) and dashboard.keys is not None:
            if is_browser and request.method == "GET" and "authorization" not in request.headers:
                wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
                to = None if wanted == "/" else local_path(wanted)
                return RedirectResponse(address("/sign-in", to=to), 303)
            if request.method == "GET":
                return Response(
                    orjson.dumps({"error": str(error)}), 401, {"WWW-Authenticate": "Bearer"}, "application/json"
                )
        return await run_in_threadpool(show, request, "This cannot be shown", str(error), _status(error))

    @app.exception_handler(HTTPException)
    async def miss(request: Request, error: HTTPException) -> Response:  # pyright: ignore[reportUnusedFunction]
        words = "There is no such page." if error.status_code == 404 else str(error.detail)
        return await run_in_threadpool(show, request, "No such page", words, error.status_code)

    @app.exception_handler(RequestValidationError)
    async def mistake(request: Request, error: RequestValidationError) -> Response:  # pyright: ignore[reportUnusedFunction]
        first: Any = error.errors()[0]  # Any: pydantic's type
        words = f"{first['loc'][-1]}: {plain_rule(first['msg'])}. Change the address, or go back."
        return await run_in_threadpool(show, request, "The address cannot be read", words, 422)
