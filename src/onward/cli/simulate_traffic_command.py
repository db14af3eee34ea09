"""`onward simulate-traffic`: simulated readers for a server."""

import math
from typing import TYPE_CHECKING, Annotated

import typer

from onward.cli.terminal import say

if TYPE_CHECKING:
    from onward.service.traffic import Traffic

EXAMPLES = """Examples:

onward simulate-traffic --visitors 3000

onward simulate-traffic --url http://127.0.0.1:8000 --loop news --rate 200 --seed 3"""

_LINES = 10  # of progress


def command(
    url: Annotated[str, typer.Option("--url", help="Of the server.")] = "http://127.0.0.1:8000",
    token: Annotated[
        str | None,
        typer.Option("--token", envvar="ONWARD_TOKEN", help="Where the server asks for one.", show_default=False),
    ] = None,
    loop: Annotated[str, typer.Option("--loop", help="Which decides; it is made if it is not there.")] = "news",
    visitors: Annotated[int, typer.Option("--visitors", min=1, max=1_000_000, help="How many come.")] = 2000,
    rate: Annotated[float, typer.Option("--rate", min=0.1, max=10_000, help="So many a second at most.")] = 50.0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of visitors, articles, clicks and delays.")] = 0,
) -> None:
    """Send simulated readers of a news page to a server that you run.

    Each asks the loop for an article, and clicks with a probability that is known here: more likely on what interests
    the reader. Articles come and go. A reward comes some visitors later, and one in ten never. At the end the clicks
    stand beside those of the best choices and of choices by chance.
    """
    from onward.service.client import Client, ServiceError
    from onward.service.traffic import make_loop, send_visitors

    client = Client(url, token=token)
    try:
        made = make_loop(client, loop)
        say(f"{'Made the loop' if made else 'The loop is there:'} {loop} at {url}")
        step, done = max(1, math.ceil(visitors / _LINES)), None
        for done in send_visitors(client, loop, visitors, rate=rate, seed=seed):
            if done.visitors % step == 0 and done.visitors < visitors:
                say(f"{done.visitors:>8} visitors, {done.clicks} clicks, {done.share:.0%} of what can be gained")
    except ServiceError as error:
        raise ValueError(str(error) if error.code == "unreachable" else f"{url}: {error}") from error
    finally:
        client.close()
    if done is not None:
        _show(done)


def _show(done: "Traffic") -> None:
    rows = [
        ("clicks", done.clicks),
        ("clicks to be expected of these choices", done.expected),
        ("clicks to be expected of the best", done.best),
        ("clicks to be expected of chance", done.random),
    ]
    say(f"{done.visitors} visitors")
    for name, value in rows:
        say(f"{value:>10.1f}  {value / done.visitors:>6.1%}  {name}")
    told = ", ".join(f"{count} {status}" for status, count in sorted(done.statuses.items()))
    say(f"{done.share:.0%} of what can be gained over chance. Rewards: {told}; {done.never} never sent.")
