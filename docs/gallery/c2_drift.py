"""
A world that turns
==================
The true coefficients go round a circle, a third of a turn in 5,000 rounds. OFUL, which counts all rewards alike, averages over
directions that are gone. D-LinUCB lets old rewards fade, SW-LinUCB forgets them at once; both keep up, and their regret
grows at a steady small rate. Bands are standard errors of 20 games.
"""

from onward.bandits import OFUL, DLinUCB, SWLinUCB, play
from onward.bandits.environments import BoxArms, Gaussian, LinearWorld, Rotating

world = LinearWorld(BoxArms(50, 2), Rotating([1.0, 0.0], [-0.6, 0.8], steps=5000), Gaussian(0.5))
known = {"lam": 0.1, "sigma": 0.5, "theta_bound": 1.0, "delta": 0.01}
policies = {"OFUL": OFUL(**known), "D-LinUCB, γ = 0.99": DLinUCB(0.99, **known), "SW-LinUCB, 150": SWLinUCB(150, **known)}
runs = play(policies, world, horizon=5000, repeats=20, seed=0, progress=False)
figure = runs.plot()
figure.suptitle("Regret in a world that turns: forgetting pays")
figure
