"""Write down the quantiles that every pass needs: in src/onward/confidence/t_quantiles.py, between `made` and `end`.

python tools/t_quantiles.py      # after a change to DELTAS, or to FREEDOM or TABLE of core/calibration{,_lanes}.py
"""

import re
import textwrap
from pathlib import Path

from onward.confidence import DELTAS
from onward.confidence.t_quantiles import computed_t_quantiles

PATH = Path(__file__).resolve().parent.parent / "src/onward/confidence/t_quantiles.py"


def made() -> str:
    """The lines of the table."""
    entries = []
    for delta in DELTAS:
        numbers = " ".join(repr(float(each)) for each in computed_t_quantiles(delta))
        entries.append(f'    {delta!r}: """\n{textwrap.indent(textwrap.fill(numbers, 112), " " * 8)}\n    """,\n')
    return "KEPT: dict[float, str] = {\n" + "".join(entries) + "}\n"


def main() -> None:
    text = PATH.read_text(encoding="utf-8")
    PATH.write_text(
        re.sub(r"(?s)(# made: \S+\n).*(# end\n)", lambda found: found[1] + made() + found[2], text), "utf-8"
    )


if __name__ == "__main__":
    main()
