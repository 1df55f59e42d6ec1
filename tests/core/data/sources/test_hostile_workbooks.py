"""Workbooks that would fill the memory, hold entities, or are cut: one line, little memory."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from support.asking import wait_until

pytest.importorskip("openpyxl")

MOST_MEMORY = 300
"""MB of the whole process, whatever a workbook holds."""
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
LAUGHS = f'<!DOCTYPE x [<!ENTITY e0 "ha">{ENTITIES}]>'
EXTERNAL = '<!DOCTYPE x [<!ENTITY e9 SYSTEM "file:///etc/passwd">]>'
FIRST = '<row r="1"><c r="A1" t="inlineStr"><is><t>response</t></is></c></row>'
TEXT_CELL = '<c r="A2" t="s"><v>0</v></c>'


def _sheet(rows: str | Iterable[str], before: str = "") -> Iterable[str]:
    yield f'{HEAD}{before}<worksheet xmlns="{SHEET}"><sheetData>'
    yield from [rows] if isinstance(rows, str) else rows
    yield "</sheetData></worksheet>"


def _texts(texts: Iterable[str], before: str = "") -> Iterable[str]:
    yield f'{HEAD}{before}<sst xmlns="{SHEET}">'
    yield from texts
    yield "</sst>"


def _write(
    path: Path,
    sheet: Iterable[str],
    texts: Iterable[str] = (),
    more: dict[str, Iterable[str]] | None = None,
    method: int = zipfile.ZIP_DEFLATED,
) -> None:
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts: dict[str, Iterable[str]] = {
        "[Content_Types].xml": [
            f'{HEAD}<Types xmlns="{PACKAGE}/content-types">'
            '<Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/>'
            f'<Override PartName="/xl/s.xml" ContentType="{kinds}.worksheet+xml"/>'
            f'<Override PartName="/xl/t.xml" ContentType="{kinds}.sharedStrings+xml"/></Types>'
        ],
        "_rels/.rels": [
            f'{HEAD}<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
            f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
        ],
        "xl/workbook.xml": [
            f'{HEAD}<workbook xmlns="{SHEET}" xmlns:r="{RELATIONS}"><sheets>'
            '<sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>'
        ],
        "xl/_rels/workbook.xml.rels": [
            f'{HEAD}<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
            f'Type="{RELATIONS}/worksheet" Target="s.xml"/></Relationships>'
        ],
        "xl/s.xml": sheet,
        "xl/t.xml": texts or _texts(["<si><t>a</t></si>"]),
        **(more or {}),
    }
    with zipfile.ZipFile(path, "w", method, compresslevel=1) as archive:
        for name, content in parts.items():
            with archive.open(name, "w", force_zip64=True) as part:
                for piece in content:
                    part.write(piece.encode())


def _lying(path: Path) -> None:
    """The archive says that its sheet has a hundred bytes."""
    _write(path, _sheet(FIRST * 20_000))
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("xl/s.xml")
        before = info.file_size.to_bytes(4, "little")
    content = path.read_bytes()
    place = content.rindex(before, 0, content.rindex(b"xl/s.xml"))
    path.write_bytes(content[:place] + (100).to_bytes(4, "little") + content[place + 4 :])


def _around(opening: str, text: str, times: int) -> Iterable[str]:
    """A text so many times inside these elements."""
    yield opening
    for _ in range(times // 1000):
        yield text * 1000
    yield "".join(f"</{tag}>" for tag in reversed(re.findall(r"\w+", opening)))


WIDE = (f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>' for n in range(2, 100_000))
HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "billion laughs in a sheet": (
        lambda path: _write(path, _sheet(f"{FIRST}<row><c><v>&e9;</v></c></row>", LAUGHS)),
        "declares entities",
    ),
    "billion laughs in the shared texts": (
        lambda path: _write(
            path, _sheet(f"{FIRST}{TEXT_CELL}"), _texts(["<si><t>&e9;</t></si>"], LAUGHS)
        ),
        "declares entities",
    ),
    "a file as an entity": (
        lambda path: _write(path, _sheet(f"{FIRST}<row><c><v>&e9;</v></c></row>", EXTERNAL)),
        "declares entities",
    ),
    "a DTD in the properties": (
        lambda path: _write(
            path, _sheet(FIRST), more={"docProps/core.xml": [LAUGHS, "<x>&e9;</x>"]}
        ),
        "declares entities",
    ),
    "one cell of a hundred megabytes": (
        lambda path: _write(
            path,
            _sheet(_around("<row><c><v>", "a" * 1000, 100_000)),
        ),
        "30,000,000 bytes",
    ),
    "one row of endless cells": (
        lambda path: _write(path, _sheet(_around("<row>", "<c/>", 20_000_000))),
        "16,384 columns",
    ),
    "one cell of endless runs": (
        lambda path: _write(path, _sheet(_around("<row><c><is>", "<r/>", 5_000_000))),
        "1,000,000 XML elements",
    ),
    "a shared text of a hundred megabytes": (
        lambda path: _write(path, _sheet(FIRST), _texts(_around("<si><t>", "a" * 1000, 100_000))),
        "30,000,000 bytes",
    ),
    "a last cell in every row": (
        lambda path: _write(path, _sheet(WIDE)),
        "50,000,000 cells",
    ),
    "a row beyond the last": (
        lambda path: _write(path, _sheet(f'{FIRST}<row r="99999999999"><c><v>1</v></c></row>')),
        "1,048,576 rows",
    ),
    "a column beyond the last": (
        lambda path: _write(path, _sheet(f'{FIRST}<row r="2"><c r="ZZZ2"><v>1</v></c></row>')),
        "16,384 columns",
    ),
    "a comment of a hundred megabytes": (
        lambda path: _write(path, _sheet(("<!--", *["a" * 1_000_000] * 100, "-->"))),
        "2,000,000 bytes",
    ),
    "a tag of a hundred megabytes": (
        lambda path: _write(path, _sheet(("<", *["a" * 1_000_000] * 100, "/>"))),
        "2,000,000 bytes",
    ),
    "a sheet that is larger than its archive says": (_lying, "cannot be read as an Excel workbook"),
    "a method that Excel does not use": (
        lambda path: _write(path, _sheet(FIRST), method=zipfile.ZIP_LZMA),
        "compressed with a method",
    ),
    "a text that is not there": (
        lambda path: _write(path, _sheet(f'{FIRST}<row r="2"><c r="A2" t="s"><v>99</v></c></row>')),
        "cannot be read as an Excel workbook",
    ),
    "a sheet that is cut off": (
        lambda path: _write(path, [f'{HEAD}<worksheet xmlns="{SHEET}"><sheetData>{FIRST}']),
        "cannot be read as an Excel workbook",
    ),
}


READ = """
import re, sys
from adjudge.core.data.dataset import read_instances
from adjudge.errors import RunError, SetupError
for path in sys.argv[1:]:
    try:
        print(sum(1 for _ in read_instances(path)), "rows")
    except (RunError, SetupError) as error:
        print(" ".join(str(error).split()))
# getrusage would also count the process that this one was forked from
status = open("/proc/self/status").read()
print(int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]) // 1024)
"""


def _read(*paths: Path) -> tuple[list[str], int]:
    """A line per workbook from a process that reads them, and its peak memory in MB."""
    words = [sys.executable, "-c", READ, *map(str, paths)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    *lines, memory = done.stdout.splitlines()
    return lines, int(memory)


def test_hostile_workbooks_are_refused_in_one_line_and_little_memory(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.xlsx" for number in range(len(HOSTILE))]
    for path, (make, _) in zip(paths, HOSTILE.values(), strict=True):
        make(path)
    lines, memory = _read(*paths)
    assert len(lines) == len(paths)
    for path, line, (what, (_, reason)) in zip(paths, lines, HOSTILE.items(), strict=True):
        assert str(path) in line and reason in line, what
        assert line.endswith("Save the table as CSV") or "cannot be read" in line, what
    assert memory < MOST_MEMORY


def test_a_command_refuses_a_hostile_workbook(tmp_path: Path) -> None:
    make, reason = HOSTILE["billion laughs in a sheet"]
    make(tmp_path / "rows.xlsx")
    words = ("check", "-f", "rows.xlsx", "--contains", "a")
    done = subprocess.run(
        [sys.executable, "-m", "adjudge", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert reason in done.stderr and "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_errors_about_a_workbook_name_nothing_of_our_own(tmp_path: Path) -> None:
    """Seen: "cannot be read as an Excel workbook: -1"."""
    cell = '<row r="2"><c r="A2" t="s"><v>-1</v></c></row>'
    _write(tmp_path / "rows.xlsx", _sheet(f"{FIRST}{cell}"))
    lines, _ = _read(tmp_path / "rows.xlsx")
    assert lines == [
        f"{tmp_path}/rows.xlsx cannot be read as an Excel workbook: it is damaged, or was not "
        "written by a spreadsheet program. Save the table as CSV"
    ]


@pytest.fixture(scope="module")
def long_workbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a workbook that takes minutes to read."""
    folder = tmp_path_factory.mktemp("long")
    row = f"<row>{'<x/>' * 500_000}</row>"
    _write(folder / "rows.xlsx", _sheet(row for _ in range(200)))
    return folder


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="it shows which files are open")
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_reading_of_a_workbook(
    long_workbook: Path, signum: signal.Signals
) -> None:
    """Seen: two signals did nothing until all of the workbook was parsed."""
    words = ("check", "-f", "rows.xlsx", "--criterion", "It is good.", "-m", "scripted/PASS")
    reader = subprocess.Popen(
        [sys.executable, "-m", "adjudge", *words],
        cwd=long_workbook,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )

    def has_opened() -> bool:
        try:
            links = Path(f"/proc/{reader.pid}/fd").iterdir()
            return any(str(link.readlink()).endswith("rows.xlsx") for link in links)
        except FileNotFoundError:  # closed while we looked
            return False

    try:
        wait_until(has_opened)
        reader.send_signal(signum)
        said = reader.communicate(timeout=25)[1]
    finally:
        reader.kill()
    assert reader.returncode == 130
    assert "Traceback" not in said


def test_the_last_cell_of_excel_is_read(tmp_path: Path) -> None:
    cell = '<row r="1048576"><c r="A1048576"><v>1</v></c><c r="XFD1048576"><v>1</v></c></row>'
    _write(tmp_path / "rows.xlsx", _sheet(f"{FIRST}{cell}"))
    lines, memory = _read(tmp_path / "rows.xlsx")
    assert lines == ["1 rows"]
    assert memory < MOST_MEMORY


def test_memory_does_not_grow_with_the_rows_of_a_workbook(tmp_path: Path) -> None:
    memory = []
    for rows in (1_000, 10_000):
        path = tmp_path / f"{rows}.xlsx"
        cells = (
            f'<row r="{n}"><c r="A{n}" t="s"><v>{n - 2}</v></c></row>' for n in range(2, rows + 2)
        )
        texts = (f"<si><t>{n} {'a long answer ' * 200}</t></si>" for n in range(rows))
        _write(path, _sheet([FIRST, *cells]), _texts(texts))
        lines, used = _read(path)
        assert lines == [f"{rows} rows"]
        memory.append(used)
    assert memory[1] < memory[0] + 15  # the texts are 28 MB
