class InputTags:
    sparse: bool

class Tags:
    input_tags: InputTags
    requires_fit: bool

def get_tags(estimator: object) -> Tags: ...
