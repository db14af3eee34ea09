"""
Rewards that come late
======================
The same policy in the same games, but each reward is learned so many rounds after the choice, at random with that mean. A
delay of some rounds costs little. One of hundreds costs about what is lost in the rounds in which nothing was known
yet, which every policy pays once. Points are means of 20 games, bars their standard errors.
"""

import matplotlib.pyplot as plt
import numpy as np

from onward.bandits import GeometricDelay, LinTS, LinUCB, play
from onward.bandits.environments import Gaussian, LinearWorld, SphereArms, Stationary

world = LinearWorld(SphereArms(10, 5), Stationary.random(5), Gaussian(0.5))
delays, figure = (1, 10, 30, 100, 300), plt.figure()
axis = figure.subplots()
for number, (name, policy) in enumerate({"LinUCB": LinUCB(), "LinTS": LinTS()}.items()):
    finals = [play({name: policy}, world, 1000, 20, delay=GeometricDelay(d), progress=False).final[0] for d in delays]
    means, errors = np.mean(finals, axis=1), np.std(finals, axis=1) / 20**0.5
    axis.errorbar(delays, means, errors, fmt=f"C{number}o-", capsize=3, label=name)
axis.set(xscale="log", xlabel="mean delay, in rounds", ylabel="regret after 1,000 rounds", ylim=(0, None))
axis.set_title("What late rewards cost: regret by the mean delay")
axis.legend()
plt.show()
