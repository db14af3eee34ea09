"""The paper by one command: every figure run, judged, drawn and reported."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from onward.experiments import runner
from onward.experiments.figure import Settings, change_settings, settings_values
from onward.experiments.registry import ALL_FIGURES, EXTENSIONS, FIGURES
from onward.experiments.reproduction_report import Section, save_drawings, write_claims, write_report
from onward.pages.versions import library_versions
from onward.scale import Engine


def configure(
    figures: Sequence[str],
    repeats: int | None = None,
    seed: int = 0,
    quick: bool = False,
    changes: Mapping[str, str] | None = None,
    undecided_times: int | None = None,
) -> dict[str, Settings]:
    """The configuration of each figure: without any named, those of the paper; "extensions" are several.

    `changes` are like {"figure3.horizon": "20000"}.
    """
    wanted = {name for given in figures for name in (EXTENSIONS if given == "extensions" else [given])}
    for name in figures:
        if name not in (*ALL_FIGURES, "extensions"):
            raise ValueError(f"there is no {name!r}; expected some of {', '.join(ALL_FIGURES)}, or extensions")
    if repeats is not None and repeats < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats}")
    if undecided_times is not None and undecided_times < 1:
        raise ValueError(f"undecided_times must be at least 1, got {undecided_times}")
    configs = {}
    for name, figure in ALL_FIGURES.items():
        if name not in (wanted or FIGURES):
            continue
        settings = dict(figure.quick_settings) if quick else {}
        settings |= {} if repeats is None else dict.fromkeys(figure.repeat_settings, repeats)
        settings |= {} if undecided_times is None else {"undecided_times": undecided_times}
        configs[name] = figure.Config(seed=seed, **settings)
    for key, text in (changes or {}).items():
        name, dot, setting = key.partition(".")
        if not dot or name not in ALL_FIGURES:
            raise ValueError(f"expected FIGURE.SETTING=VALUE, such as figure3.horizon=20000, got {key}={text}")
        if name not in configs:
            raise ValueError(f"{key} is set, but {name} is not among the figures to run ({', '.join(configs)})")
        configs[name] = change_settings(configs[name], {setting: text})
    return configs


def reproduce(
    configs: Mapping[str, Settings],
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
    figures = [ALL_FIGURES[name] for name in configs]
    outcomes = runner.run_figures(figures, configs, out / "pieces", engine, advance)
    for folder in ("results", "figures"):
        (out / folder).mkdir(exist_ok=True)
    for name in (
        ALL_FIGURES.keys() - configs.keys()
    ):  # what an earlier run left of other figures is not part of this one
        _remove_figure(out, name)
    sections = []
    for figure in figures:
        config, outcome = configs[figure.name], outcomes[figure.name]
        runner.write_frame(out / "results" / f"{figure.name}.parquet", outcome.frame)
        section = Section(
            name=figure.name,
            title=figure.title,
            settings=settings_values(config),
            claims=figure.claims(config, outcome.frame),
            drawings=figure.draw(config, outcome.frame),
            seconds=outcome.seconds,
            remarks=[*figure.remarks(config), *_describe_added(outcome.added)],
            of_paper=figure.of_paper,
            source=figure.source,
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
        versions=library_versions(),
        command=command,
        size=describe_size(configs),
    )
    return sections


def _describe_added(added: Mapping[str, tuple[int, int]]) -> list[str]:
    """Which repeats were added, in a sentence."""
    said = "; ".join(f"{group} from {first:,} to {count:,}" for group, (first, count) in added.items())
    return [f"Repeats were added where a verdict was undecided: {said}."] if added else []


def _remove_figure(out: Path, name: str) -> None:
    (out / "results" / f"{name}.parquet").unlink(missing_ok=True)
    for path in (out / "figures").glob(f"{name}*"):
        path.unlink()


def describe_size(configs: Mapping[str, Settings]) -> str:
    """Whether these are the settings of the full run."""
    changed = [name for name, config in configs.items() if ALL_FIGURES[name].changed_settings(config)]
    return f"with changed settings ({', '.join(changed)})" if changed else "at full size"
