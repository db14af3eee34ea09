"""The progress bar: on standard error, with what is done and what its user adds."""

import pytest

from onward.progress_bar import open_progress_bar


@pytest.mark.parametrize(("percent", "done"), [(False, "3/4"), (True, "75%")])
def test_a_bar_says_what_is_done(capsys: pytest.CaptureFixture[str], percent: bool, done: str) -> None:
    with open_progress_bar("{task.description}", "{task.fields[rate]} rows/s", percent=percent) as bar:
        task = bar.add_task("figure4a", total=4, rate="17")
        bar.update(task, completed=3)
    out, err = capsys.readouterr()
    assert out == ""
    for part in ("figure4a", done, "17 rows/s", "left"):
        assert part in err
