"""The page of a row shows the chat with the scenario beside it."""

from __future__ import annotations

from pathlib import Path

from features.conversations.bot_script import Bot, run_eval, serving, write_eval
from support.page import served


def test_the_row_page_shows_the_chat(tmp_path: Path) -> None:
    with serving(Bot()) as url:
        run_eval(write_eval(tmp_path, f"{url}/chat", count=1), tmp_path / "runs" / "one")
    with served(tmp_path / "runs") as page:
        shown = page.get(f"{page.run('one')}/row/1")
        assert shown.status == 200
        assert 'class="chat"' in shown.text
        assert "whose fault" in shown.text
        assert "Cancel the order 4000." in shown.text
        other = page.get(f"{page.run('one')}/row/2")
        assert other.status == 200
        assert "nobody" in other.text
