"""Which pages the site has, in which order. Pages hold no directive, so that they read well on a code host."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TREE: dict[str, list[str]] = {
    "index": [
        "start/index",
        "guides/index",
        "pictures/index",
        "explorer",
        "explanation/index",
        "reference/index",
        "coming_from/index",
    ],
    "start/index": ["start/one_csv", "start/one_bandit", "news_recommender"],
    "guides/index": [
        "own_data",
        "guides/which_learner",
        "learners",
        "guides/which_interval",
        "ab_tests",
        "bandits",
        "guides/late_rewards",
        "logs",
        "service",
        "deployment",
        "scaling",
        "own_policy",
        "guides/own_world",
        "guides/own_figure",
    ],
    "explanation/index": [
        "explanation/forward",
        "explanation/when_forward_wins",
        "explanation/time_uniform",
        "explanation/state",
        "guarantees",
        "findings",
        "errata",
        "paper_map",
        "performance",
        "releasing",
        "explanation/contributing",
        "explanation/changelog",
    ],
    "reference/index": ["api/index", "api/command_line", "reference/file_format", "api/http"],
    "coming_from/index": [
        "coming_from/scikit_learn",
        "coming_from/river",
        "coming_from/vowpal_wabbit",
        "coming_from/mabwiser",
        "coming_from/statsmodels",
        "from_personalizer",
    ],
}
"""The pages below each page; those in pictures/ and api/ are made by the build."""

EXPLORER = "explorer"  # the page that shows it
OUTSIDE = {
    "README.md": "index",
    "CHANGELOG.md": "explanation/changelog",
    "CONTRIBUTING.md": "explanation/contributing",
}
"""Files outside of docs/ that pages link to, and the page of the site that shows each."""
