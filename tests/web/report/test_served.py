"""The report of a league that is over, as the dashboard serves it."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaguekit.web import front_page
from leaguekit.web.app import Dashboard
from tests.agents.leagues import Hall, in_virtual_time
from tests.played import Transcripts
from tests.web.dashboard_clients import get


@in_virtual_time
async def test_the_report_is_served_when_the_league_is_over(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        dashboard, transcripts = Dashboard(hall.manager), Transcripts(hall)
        await hall.fill("always_even", "always_odd", "random")
        refused = await get(dashboard, "/report")
        assert (refused.status, refused.json["error"][:24]) == (404, "The league has no report")
        await hall.operate("start")
        await hall.end()
        await transcripts.played()
        page = await get(dashboard, "/report")
        text = page.body.decode()
        assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "Champion: " in text
        assert "<summary>Replay</summary>" in text
        assert "<style>" not in text
        assert 'href="report.css"' in text
        assert (await get(dashboard, "/report.css")).body.decode().count(".champion{") == 1
        assert (await get(dashboard, "/report", if_none_match=page.headers["etag"])).status == 304
        # What the operator does afterwards is in it.
        await hall.operate("correct", match_id="R1M1", outcome="P01", reason="the referee erred")
        assert "the referee erred" in (await get(dashboard, "/report")).body.decode()
        dashboard.close()


@in_virtual_time
async def test_a_large_league_has_no_report_on_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_page, "MAX_REPORTED_PLAYERS", 2)
    async with Hall(tmp_path) as hall:
        await hall.fill("always_even", "always_odd", "random")
        await hall.operate("start")
        await hall.end()
        dashboard = Dashboard(hall.manager)
        assert (await get(dashboard, "/report")).status == 404
        assert (await get(dashboard, "/api/live")).json["league"]["has_report"] is False
