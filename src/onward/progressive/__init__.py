"""One pass over files: predict each row before its target is seen, learn it, keep score (progressive validation)."""

from onward.core.inference import Inference
from onward.progressive.comparing import compare
from onward.progressive.fitting import fit
from onward.progressive.learning_pass import Progress
from onward.progressive.results import Comparison, Fit, History, Scores
from onward.progressive.scoring import ModelScores, score

__all__ = ["Comparison", "Fit", "History", "Inference", "ModelScores", "Progress", "Scores", "compare", "fit", "score"]
