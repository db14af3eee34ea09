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

boolean: Type
float64: Type
int64: Type
intp: Type
void: Type
