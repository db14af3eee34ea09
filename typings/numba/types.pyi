class Signature:
    args: tuple[Type, ...]
    return_type: Type

class Type:
    name: str
    def __call__(self, *args: Type) -> Signature: ...

class Array(Type):
    dtype: Type
    ndim: int
    layout: str
    def __init__(self, dtype: Type, ndim: int, layout: str) -> None: ...

boolean: Type
float64: Type
int64: Type
uint64: Type
intp: Type
void: Type

def UniTuple(dtype: Type, count: int) -> Type: ...
