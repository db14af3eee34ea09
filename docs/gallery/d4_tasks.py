"""
One task after the other
========================
Ten tasks of 100 rounds, whose true coefficients lie near a common mean. A policy that starts over with each pays the same price ten
times. MetaOFUL starts from what earlier tasks have taught, and pays less from the second on. Bands are standard errors of 20 games.
"""

from onward.bandits import MetaOFUL, OracleRestart, play
from onward.bandits.environments import Gaussian, LinearWorld, SphereArms
from onward.bandits.structured_worlds import Tasks

tasks = Tasks(mean=[0.8, 0.0, 0.6], spread=0.1, rounds=100, n_tasks=10)
known = {"lam": 0.1, "sigma": 0.1, "theta_bound": 1.1}
policies = {
    "each task by itself": OracleRestart(tasks.change_points, **known),
    "MetaOFUL": MetaOFUL(rounds=100, spread=0.1, trust="spread", **known),
}
world = LinearWorld(SphereArms(10, 3), tasks, Gaussian(0.1))
figure = play(policies, world, horizon=1000, repeats=20, progress=False).plot()
figure.suptitle("Regret over ten related tasks of 100 rounds")
figure
