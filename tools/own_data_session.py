"""The session of docs/own_data.md: commands, run one after the other in one folder, and what they print."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.own_data_sets import SETS
from tools.run_onward import onward

FIRST = 352  # of the 442 patients
TRIPS = """when,city,rush,km,fare
2026-01-05 08:10:00,Rome,true,3.1,9.80
2026-01-05 09:30:00,Rome,true,5.0,13.10
2026-01-05 11:00:00,Oslo,false,2.2,12.40
2026-01-05 13:45:00,Oslo,false,NA,25.00
2026-01-06 08:20:00,Rome,true,4.0,11.70
2026-01-06 10:05:00,Oslo,false,6.3,21.90
2026-01-06 12:00:00,Oslo,false,1.1,9.60
2026-01-06 17:40:00,Rome,true,7.4,18.20
"""


# As a spreadsheet in German writes them, in latin-1: dates, decimals, thousands.
SALES = """Tag;Nr;Filiale;Preis;Umsatz
02.03.2026;A1;Köln;2,5;1.210,00
03.03.2026;A2;Jena;2,4;980,50
04.03.2026;A3;Köln;2,2;1.405,25
05.03.2026;A4;Jena;2,0;1.120,00
06.03.2026;A5;Köln;1,9;1.530,75
07.03.2026;A6;Jena;1,7;1.233,00
08.03.2026;A7;Köln;1,8;1.580,00
"""

# Rows as a device sends them: one is cut in two by a decimal comma.
METER = """load,hot,power
1.0,no,10.2
2.0,no,19.8
3.0,yes,33.1
4,0,yes,41.0
2.5,maybe,26.3
3.5,yes,38.4
"""


@dataclass(frozen=True)
class Step:
    """A command as one types it: `stdin` names a file whose first `lines` lines are piped into it."""

    command: str
    code: int = 0
    stdin: str | None = None
    lines: int = 0
    most: int | None = None  # lines of the output that are shown
    shows_notes: bool = False  # whether standard error is shown where all went well, too


SESSIONS: dict[str, Sequence[Step]] = {
    "fit": [Step("fit first.csv --target target --save first.onward")],
    "show": [Step("show first.onward")],
    "predict": [Step("predict first.onward second.csv", most=4)],
    "score": [Step("score first.onward second.csv")],
    "compare": [Step("compare diabetes.csv --target target")],
    "go on": [
        Step("fit second.csv --target target --start first.onward --save both.onward --quiet"),
        Step("fit first.csv --target target --learner forward --save one.onward --quiet"),
        Step("fit second.csv --target target --learner forward --save two.onward --quiet"),
        Step("merge one.onward two.onward --save merged.onward"),
    ],
    "stdin": [Step("predict both.onward - --json", stdin="second.csv", lines=3)],
    "live": [
        Step("fit - --target power --schema hot=category --save meter.onward --follow", stdin="meter.csv", lines=4),
        Step("fit - --target power --schema hot=category --save meter.onward --follow", 1, stdin="meter.csv", lines=7),
        Step(
            "fit - --target power --schema hot=category --save meter.onward --follow --json --bad-rows skip",
            stdin="meter.csv",
            lines=7,
            shows_notes=True,
        ),
        Step("show meter.onward", most=7),
    ],
    "kinds": [
        Step("fit trips.csv --target fare", code=1),
        Step("fit trips.csv --target fare --categorical city --quiet", code=1),
        Step("fit trips.csv --target fare --categorical city --missing skip"),
    ],
    "reading": [
        Step(
            "fit sales.csv --target Umsatz --encoding latin-1 --decimal , --thousands . --date-format %d.%m.%Y "
            "--categorical Filiale --drop-first --keep Nr --save sales.onward --predictions sales-predictions.csv "
            "--quiet"
        ),
        Step("show sales.onward", most=11),
        Step("predict sales.onward sales.csv --encoding latin-1 --keep Nr", most=3),
    ],
    "terms": [
        Step(
            "fit trips.csv --target fare --categorical city --exclude when --missing skip "
            "--add 'lag(fare, 1), km:city' --add 'hour(when)' --save trips.onward"
        ),
        Step("fit trips.csv --target fare --categorical city --add 'log(kmm)'", code=1),
    ],
    "export": [
        Step(
            "fit trips.csv --target fare --categorical city --missing skip --learner ridge --save trips.onward --quiet"
        ),
        Step("export trips.onward --format sql --table trips"),
    ],
    "errors": [
        Step("fit trips.csv --target price", code=1),
        Step("fit no-such-file.csv --target fare", code=1),
        Step("predict both.onward trips.csv", code=1),
        Step("merge one.onward first.csv --save all.onward", code=1),
    ],
}


def prepare(folder: Path) -> None:
    """Put the files of the session there."""
    frame = next(data for data in SETS if data.name == "diabetes").frame()
    frame.write_csv(folder / "diabetes.csv")
    frame[:FIRST].write_csv(folder / "first.csv")
    frame[FIRST:].write_csv(folder / "second.csv")
    (folder / "trips.csv").write_text(TRIPS, encoding="utf-8")
    (folder / "sales.csv").write_text(SALES, encoding="latin-1")
    (folder / "meter.csv").write_text(METER, encoding="utf-8")


def sections(folder: Path, names: Sequence[str] = tuple(SESSIONS)) -> dict[str, str]:
    """What each part looks like on a terminal, as fenced text; in order, for later parts need the files of earlier."""
    prepare(folder)
    return {
        name: "```console\n" + "\n".join(_shown(step, folder) for step in SESSIONS[name]) + "\n```" for name in names
    }


def _shown(step: Step, folder: Path) -> str:
    text, typed = "", f"onward {step.command}"
    if step.stdin is not None:
        lines = (folder / step.stdin).read_text(encoding="utf-8").splitlines(keepends=True)
        text, typed = "".join(lines[: step.lines]), f"head -n {step.lines} {step.stdin} | {typed}"
    said = onward(*shlex.split(step.command), stdin=text, folder=folder, expected=step.code)
    output = steady(said.out + (said.err if step.code or step.shows_notes else "")).rstrip().splitlines()
    if step.most is not None and len(output) > step.most:
        output = [*output[: step.most], "…"]
    return "\n".join([f"$ {typed}", *(line.rstrip() for line in output)])


def steady(text: str) -> str:
    """Without what differs from run to run: how long it took."""
    text = re.sub(r"in \d+\.\d s \([\d,]+ rows/s\)", "in 0.0 s", text)
    return re.sub(r"\d+\.\d s\.$", "0.0 s.", text, flags=re.MULTILINE)
