"""The colours of drawings: one for each learner in all of them, and some for all else."""

COLORS = {"ridge": "#c1552d", "forward": "#2a6f97", "auto": "#3f8f4f"}
# For settings of one learner. Told apart by most eyes, and readable on white and on black.
SETTINGS = ("#9a6fc4", "#1b9e77", "#d18f00", "#d0568c", "#7a8b99", "#4aa3df")
INK = "#222222"  # on colours of ours; elsewhere texts have the default colour
GREY = "#888888"  # of what others are compared with
