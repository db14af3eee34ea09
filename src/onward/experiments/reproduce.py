"""The paper by one command: every figure run, judged, drawn and reported."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from onward.experiments import FIGURES, runner
from onward.experiments.base import Experiment, settings_of, with_settings
from onward.experiments.reproduction_report import Section, save_drawings, write_claims, write_report
from onward.pages.versions import versions
from onward.scale import Engine

QUICK: dict[str, dict[str, Any]] = {
    "figure1": {"repeats": 10},
    "figure2": {"repeats": 10},
    "figure3": {"repeats": 5, "fresh_repeats": 3, "horizon": 3000},
    "figure4a": {"repeats": 10},
    "figure4b": {"repeats": 10},
}
"""What a reduced run changes."""


def configure(
    figures: Sequence[str],
    repeats: int | None = None,
    seed: int = 0,
    quick: bool = False,
    changes: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The configuration of each figure. `changes` are like {"figure3.horizon": "20000"}."""
    wanted = list(figures) or list(FIGURES)
    for name in wanted:
        if name not in FIGURES:
            raise ValueError(f"there is no {name!r}; expected some of {', '.join(FIGURES)}")
    configs = {}
    for name in FIGURES:
        if name not in wanted:
            continue
        config = FIGURES[name].Config(seed=seed)
        if quick:
            config = replace(config, **QUICK[name])
        if repeats is not None:
            names = [each.name for each in fields(config) if each.name in ("repeats", "fresh_repeats")]
            config = replace(config, **dict.fromkeys(names, _positive("repeats", repeats)))
        configs[name] = config
    for key, text in (changes or {}).items():
        name, dot, setting = key.partition(".")
        if not dot or name not in FIGURES:
            raise ValueError(f"expected FIGURE.SETTING=VALUE, such as figure3.horizon=20000, got {key}={text}")
        if name not in configs:
            raise ValueError(f"{key} is set, but {name} is not among the figures to run ({', '.join(configs)})")
        configs[name] = with_settings(configs[name], {setting: text})
    return configs


def reproduce(
    configs: Mapping[str, Any],
    out: Path,
    engine: Engine | None = None,
    quick: bool = False,
    command: str = "onward reproduce",
    advance: runner.Advance = lambda name, done, total: None,
) -> list[Section]:
    """Run what is missing, then judge, draw and report. Returns the sections of the report.

    Writes into `out`: report.html, claims.json, figures/*.png, *.svg, *.pdf, results/*.parquet; and pieces/, from which
    a run that was stopped goes on.
    """
    began = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)
    experiments: dict[str, Experiment] = {name: FIGURES[name] for name in configs}
    outcomes = runner.run(experiments, configs, out / "pieces", engine, advance)
    for folder in ("results", "figures"):
        (out / folder).mkdir(exist_ok=True)
    for name in FIGURES:  # what an earlier run left of other figures is not part of this one
        if name not in configs:
            _forget(out, name)
    sections = []
    for name, outcome in outcomes.items():
        experiment, config = experiments[name], configs[name]
        runner.write_frame(out / "results" / f"{name}.parquet", outcome.frame)
        section = Section(
            name=name,
            title=experiment.TITLE,
            settings=settings_of(config),
            claims=experiment.claims(config, outcome.frame),
            drawings=experiment.draw(config, outcome.frame),
            seconds=outcome.seconds,
            remarks=remarks(name, config),
        )
        save_drawings(out / "figures", section.drawings)
        sections.append(section)
    write_claims(out / "claims.json", sections)
    write_report(
        out / "report.html",
        sections,
        quick=quick,
        seed=next(iter(configs.values())).seed,
        seconds=time.perf_counter() - began,
        versions=versions(),
        command=command,
        size=size(configs),
    )
    return sections


def _forget(out: Path, name: str) -> None:
    (out / "results" / f"{name}.parquet").unlink(missing_ok=True)
    for path in (out / "figures").glob(f"{name}*"):
        path.unlink()


def size(configs: Mapping[str, Any]) -> str:
    """Whether these are the settings of the full run."""
    changed = [name for name, config in configs.items() if settings_of(config) != _defaults(name, config.seed)]
    return f"with changed settings ({', '.join(changed)})" if changed else "at full size"


def _defaults(name: str, seed: int) -> dict[str, Any]:
    return settings_of(FIGURES[name].Config(seed=seed))


def remarks(name: str, config: Any) -> list[str]:
    """What a reader should know of the settings: where they are not the full run's, and what is derived from them."""
    found = []
    if name in ("figure4a", "figure4b"):
        found.append(
            f"γ = {config.gamma:.5f} and τ = {config.window}, from B_T = {config.variation:.5g}. D-LinUCB and "
            "SW-LinUCB have "
            "the widths that their authors print (uniform), LinUCB, LinUCB-OR and dLinUCB the determinant's; "
            "dLinUCB has "
            "δ₂ = 0.01 and δ̃ = 0.002."
        )
    if name == "figure4b":
        found.append("LinUCB-OR is not here: there are no change points to tell it.")
    if name == "figure3" and config.fresh_repeats < config.repeats:
        found.append(
            f"Variants with arms drawn anew each round ran with {config.fresh_repeats} repeats, not {config.repeats}: "
            "a repeat takes ten times as long as with fixed arms, which span ten dimensions instead of a hundred. "
            "Quartiles and intervals are those of that many repeats. --repeats N sets both."
        )
    usual = _defaults(name, config.seed)
    changed = {key: value for key, value in settings_of(config).items() if value != usual[key]}
    if changed:
        said = ", ".join(f"{key} = {value}" for key, value in changed.items())
        found.append(f"Settings other than the full run's: {said}.")
    return found


def _positive(name: str, value: int) -> int:
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
    return value
