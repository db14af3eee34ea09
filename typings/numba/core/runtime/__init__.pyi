from numba.core.runtime import _nrt_python as _nrt_python
