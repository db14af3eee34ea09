"""Files that a pass will write: an error now, not after an hour, if one cannot be or would destroy something."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from onward.progressive.frame_writers import Write, check_ending, check_target
from onward.progressive.schedule import Every
from onward.tables.sources import Source, described_by_name, find_files
from onward.tables.table import Format

Output = str | os.PathLike[str] | None


class Outputs(TypedDict, total=False):
    """What a pass leaves behind beside its result: keyword arguments of every `fit`.

    Args:
        save: where to write the model in the end; of a stream, also where it is stopped or a row cannot be read.
        save_every: write it there along the way, too: after so many rows, or after a time such as "30s" or "5m".
        checkpoint_every: rows after which a checkpoint is written beside `save`, when the next few megabytes are done.
        resume: go on from that checkpoint, if there is one; the result is the same, to the last bit, as without a stop.
        predictions: a file (.parquet, .csv, .jsonl) for row, target, prediction, lower, upper and leverage of each row,
            as of before its target was seen. The interval is for the target, made as `intervals` says: see
            `onward.core.known.Method`. With many workers, a name that ends in "/" is a folder of Parquet files, one for
            each chunk.
        follow: called with a frame of these columns as soon as rows are predicted.
    """

    save: Output
    save_every: int | str | None
    checkpoint_every: int | None
    resume: bool
    predictions: Output
    follow: Write | None


def check_outputs(source: Source | Sequence[Source], format: Format | None, outputs: Outputs) -> None:
    """OSError or ValueError if an output cannot be written, contradicts another, or would overwrite what is read."""
    unknown = [name for name in outputs if name not in Outputs.__annotations__]
    if unknown:
        raise TypeError(f"unexpected argument {unknown[0]!r}, expected one of {', '.join(Outputs.__annotations__)}")
    save, predictions = outputs.get("save"), outputs.get("predictions")
    checkpoints = outputs.get("checkpoint_every") is not None or outputs.get("resume")
    if save is None and outputs.get("save_every") is not None:
        raise ValueError("save_every says when, not where: expected save, too")
    if save is None and checkpoints:
        raise ValueError("checkpoints lie beside the saved model: expected save, too")
    Every.parse("checkpoint_every", outputs.get("checkpoint_every"))
    Every.parse("save_every", outputs.get("save_every"))
    if predictions is not None and not is_folder(predictions):
        check_ending(predictions)
    elif predictions is not None:
        foreign = [path.name for path in sorted(Path(predictions).glob("*")) if not path.match("part-*.parquet")]
        if foreign:
            raise ValueError(
                f"predictions: the folder {predictions} holds {foreign[0]!r}, which would be read with them: expected "
                "an empty folder, a new one, or one of earlier predictions"
            )
    check_targets(source, format, {"save": save, "predictions": predictions}, may_be_folder="predictions")


def is_folder(predictions: str | os.PathLike[str]) -> bool:
    """Whether predictions are meant to go into a folder: a name that ends in a slash, or a folder that is there."""
    return os.fspath(predictions).endswith(("/", os.sep)) or Path(predictions).is_dir()


def check_targets(
    source: Source | Sequence[Source],
    format: Format | None,
    targets: Mapping[str, Output],
    *,
    may_be_folder: str | None = None,
) -> None:
    """OSError or ValueError if a file (by what it is called) cannot be written, is read, or is another one, too.

    `may_be_folder` is what the one is called that may be a folder of files, which may be there already.
    """
    given = {name: Path(path) for name, path in targets.items() if path is not None}
    for name, path in given.items():
        check_target(path / "part" if name == may_be_folder and path.is_dir() else path)
    taken: dict[Path, str] = {}
    for name, path in given.items():
        place = path.resolve()
        if place in taken:
            raise ValueError(f"{name} and {taken[place]} are both {path}: expected different files")
        taken[place] = name
    inputs = {file.path.resolve() for file in find_files(source, format) if file.path is not None}
    if not inputs:  # standard input, or data frames
        return
    several = [source] if isinstance(source, str | os.PathLike) else list(source)
    folders = [Path(each).resolve() for each in several if Path(each).is_dir()]
    for name, path in given.items():
        if path.resolve() in inputs:
            raise ValueError(f"{name} is {path}, which is read: expected another file")
        inside = any(folder in path.resolve().parents for folder in folders)
        if inside and (described_by_name(path) is not None or is_folder(str(targets[name]))):
            raise ValueError(f"{name} is {path}, in a folder that is read: the next run would take it for data")
