from numba.core import caching as caching
