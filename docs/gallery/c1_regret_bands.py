"""
Policies at their defaults
==========================
Ten fixed arms in ten dimensions, 40 games with the same arms and noise for all. Nothing is told to any policy: the noise and the
width are found as it plays. Lines are medians, bands the quartiles of the games. Greedy is not always worse, but when it settles on
a wrong arm it stays there, and its band is the widest.
"""

from onward.bandits import EpsilonGreedy, Greedy, LinTS, LinUCB, play
from onward.bandits.environments import BallArms, Gaussian, LinearWorld, Stationary

world = LinearWorld(BallArms(10, 10, fresh=False), Stationary.random(10), Gaussian(0.5))
policies = {"LinUCB": LinUCB(), "LinTS": LinTS(), "ε-greedy": EpsilonGreedy(0.1), "greedy": Greedy()}
runs = play(policies, world, horizon=2000, repeats=40, seed=0, n_jobs=1, progress=False)
figure = runs.plot(band="quartiles")
figure.suptitle("Ten fixed arms: regret of policies that were told nothing")
figure
