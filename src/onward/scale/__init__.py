"""Beyond one core and one machine: exact, parallel in time.

States of rows that are apart add up. So data in chunks can be learned by many workers at once and give what one pass in
order gives, its online predictions included.
"""

from onward.scale.chunks import Chunk, chunks_of, why_workers_do_not_pay
from onward.scale.engine import Engine, EngineError
from onward.scale.parallel_compare import compare
from onward.scale.parallel_fit import fit
from onward.scale.scan import Tree, prefixes, tree
from onward.scale.summary import Summary

__all__ = [
    "Chunk",
    "Engine",
    "EngineError",
    "Summary",
    "Tree",
    "chunks_of",
    "compare",
    "fit",
    "prefixes",
    "tree",
    "why_workers_do_not_pay",
]
