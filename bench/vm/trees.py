def make(depth):
    if depth == 0:
        return {"left": None, "right": None}
    return {"left": make(depth - 1), "right": make(depth - 1)}


def check(tree):
    left = tree["left"]
    right = tree["right"]
    if left is None or right is None:
        return 1
    return 1 + check(left) + check(right)


def bench():
    return check(make(12))
