"""`onward warm-up`: compile beforehand what would be compiled at its first use."""

from typing import Annotated

import typer

from onward.cli.terminal import say

EXAMPLES = """Examples:

onward warm-up

NUMBA_CACHE_DIR=/opt/cache onward warm-up service    # in an image, for the user that will run it"""


def command(
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PART", help="regression, bandits or service; all of them by default.", show_default=False
        ),
    ] = None,
) -> None:
    """Compile what learners, policies and the service run through, so that nobody waits for it later.

    Code is compiled when it is first called, for this machine's processor, and kept beside the sources, or in
    NUMBA_CACHE_DIR. For images and for CI: here it is called for what most people begin with. What is compiled already
    takes no time.
    """
    import time

    from onward.cli.warm_up_steps import PARTS, has_service, steps

    wanted = tuple(parts or PARTS)
    unknown = [part for part in wanted if part not in PARTS]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(PARTS)}", param_hint="PARTS")
    if parts and "service" in parts and not has_service():
        raise ValueError('the service is not installed: pip install "onward[serve]"')
    todo, whole = list(steps(wanted)), time.perf_counter()
    for number, (name, do) in enumerate(todo, start=1):
        begun = time.perf_counter()
        do()
        say(f"{number:>3} of {len(todo)}  {time.perf_counter() - begun:6.1f} s  {name}")
    say(f"Ready, after {time.perf_counter() - whole:.0f} s.")
